//! Attach: where the main process of a container can be streamed.

use agent_core::{ContainerId, Fail};
use agent_loops::ports::Streams;
use proto::cri::AttachRequest;

use crate::connection::Connection;
use crate::fail::Verb;

const VERB: Verb = Verb {
    name: "Attach",
    reason: "AttachError",
};

/// `streams.tty` has to be what the container was made with.
pub(crate) async fn attach(
    connection: &Connection,
    id: &ContainerId,
    streams: Streams,
) -> Result<String, Fail> {
    let request = connection.request(AttachRequest {
        container_id: id.to_string(),
        stdin: streams.stdin,
        tty: streams.tty,
        stdout: streams.stdout,
        stderr: streams.stderr,
    });
    let response = connection
        .answer(VERB, connection.runtime().attach(request))
        .await?;
    Ok(response.url)
}
