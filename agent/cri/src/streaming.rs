//! The `Streaming` port over CRI: the runtime answers with the address of its streaming server.

use agent_core::{ContainerId, Fail, SandboxId};
use agent_loops::ports::{Streaming, Streams};
use async_trait::async_trait;

use crate::call::{attach::attach, exec::exec, port_forward::port_forward};
use crate::runtime::CriRuntime;

#[async_trait]
impl Streaming for CriRuntime {
    async fn exec(
        &self,
        container: &ContainerId,
        command: &[String],
        streams: Streams,
    ) -> Result<String, Fail> {
        exec(self.connection(), container, command, streams).await
    }

    async fn attach(&self, container: &ContainerId, streams: Streams) -> Result<String, Fail> {
        attach(self.connection(), container, streams).await
    }

    async fn port_forward(&self, sandbox: &SandboxId, ports: &[i32]) -> Result<String, Fail> {
        port_forward(self.connection(), sandbox, ports).await
    }
}
