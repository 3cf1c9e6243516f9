//! Streams into containers, as the kubelet's server needs them: the runtime answers with an address
//! to which the client's connection is passed on.

use std::fmt;

use agent_core::{ContainerId, Fail, SandboxId};
use async_trait::async_trait;

/// Door to the runtime's streaming server.
#[async_trait]
pub trait Streaming: Send + Sync + fmt::Debug + 'static {
    /// Where a command in a container can be streamed.
    async fn exec(
        &self,
        container: &ContainerId,
        command: &[String],
        streams: Streams,
    ) -> Result<String, Fail>;
    /// Where the main process of a container can be attached to.
    async fn attach(&self, container: &ContainerId, streams: Streams) -> Result<String, Fail>;
    /// Where ports of a pod can be reached. Empty `ports`: they are named in the stream.
    async fn port_forward(&self, sandbox: &SandboxId, ports: &[i32]) -> Result<String, Fail>;
}

/// Which streams are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Streams {
    /// Input.
    pub stdin: bool,
    /// Output.
    pub stdout: bool,
    /// Errors; never together with `tty`.
    pub stderr: bool,
    /// A terminal.
    pub tty: bool,
}
