//! RuntimeConfig: the cgroup driver that the runtime uses.

use agent_core::Fail;
use proto::cri::{CgroupDriver, RuntimeConfigRequest};
use tonic::Code;

use crate::connection::Connection;
use crate::fail::{self, Verb};

const VERB: Verb = Verb {
    name: "RuntimeConfig",
    reason: "RuntimeUnavailable",
};

/// `systemd` or `cgroupfs`. `None` from runtimes without the call (containerd before 2.0), for which
/// the node's own configuration decides.
pub(crate) async fn cgroup_driver(connection: &Connection) -> Result<Option<String>, Fail> {
    let request = connection.request(RuntimeConfigRequest {});
    match connection
        .raw(VERB, connection.runtime().runtime_config(request))
        .await
    {
        Ok(response) => Ok(response
            .linux
            .map(|linux| name(linux.cgroup_driver()).to_owned())),
        Err(status) if status.code() == Code::Unimplemented => Ok(None),
        Err(status) => Err(fail::of(VERB, &status)),
    }
}

fn name(driver: CgroupDriver) -> &'static str {
    match driver {
        CgroupDriver::Systemd => "systemd",
        CgroupDriver::Cgroupfs => "cgroupfs",
    }
}
