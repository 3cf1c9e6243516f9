//! Exec: where a command in a container can be streamed.

use agent_core::{ContainerId, Fail};
use agent_loops::ports::Streams;
use proto::cri::ExecRequest;

use crate::connection::Connection;
use crate::fail::Verb;

const VERB: Verb = Verb {
    name: "Exec",
    reason: "ExecError",
};

/// The runtime starts nothing yet: the command runs when somebody comes to the address.
pub(crate) async fn exec(
    connection: &Connection,
    id: &ContainerId,
    command: &[String],
    streams: Streams,
) -> Result<String, Fail> {
    let request = connection.request(ExecRequest {
        container_id: id.to_string(),
        cmd: command.to_vec(),
        tty: streams.tty,
        stdin: streams.stdin,
        stdout: streams.stdout,
        stderr: streams.stderr,
    });
    let response = connection
        .answer(VERB, connection.runtime().exec(request))
        .await?;
    Ok(response.url)
}
