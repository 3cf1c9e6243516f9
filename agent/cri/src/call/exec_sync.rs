//! ExecSync: a command in a container, for probes and hooks.

use std::time::Duration;

use agent_core::{ContainerId, Fail};
use agent_loops::ports::ExecOutput;
use proto::cri::{ExecSyncRequest, ExecSyncResponse};
use tonic::Code;

use crate::connection::Connection;
use crate::fail::{self, Verb};

const VERB: Verb = Verb {
    name: "ExecSync",
    reason: "ExecError",
};

/// Bytes of output that are kept: the stock kubelet's limit for probes.
const MAX_OUTPUT: usize = 10 << 10;

/// No exit code: the command was killed because it ran too long.
const TIMED_OUT: i32 = -1;

/// A command that takes longer than `timeout` has failed, which is an answer, not an error.
pub(crate) async fn exec_sync(
    connection: &Connection,
    id: &ContainerId,
    command: &[String],
    timeout: Duration,
) -> Result<ExecOutput, Fail> {
    let message = ExecSyncRequest {
        container_id: id.to_string(),
        cmd: command.to_vec(),
        timeout: super::whole_seconds(timeout),
    };
    let request = connection.request_with(message, timeout);
    match connection
        .raw(VERB, connection.runtime().exec_sync(request))
        .await
    {
        Ok(response) => Ok(output(response)),
        Err(status) if status.code() == Code::DeadlineExceeded => Ok(ExecOutput {
            code: TIMED_OUT,
            output: format!(
                "command did not end within {} s",
                super::whole_seconds(timeout)
            ),
        }),
        Err(status) => Err(fail::of(VERB, &status)),
    }
}

fn output(response: ExecSyncResponse) -> ExecOutput {
    let mut bytes = response.stdout;
    bytes.extend(response.stderr);
    bytes.truncate(MAX_OUTPUT);
    let output = String::from_utf8_lossy(&bytes).into_owned();
    ExecOutput {
        code: response.exit_code,
        output,
    }
}

#[cfg(test)]
mod tests;
