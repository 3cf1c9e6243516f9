//! GetContainerEvents: what happens, as it happens.

use agent_core::Fail;
use agent_loops::ports::RuntimeEvent;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt, TryStreamExt};
use proto::cri::GetEventsRequest;
use tonic::{Request, Response};

use super::version::version;
use crate::connection::Connection;
use crate::fail::{self, Verb};
use crate::observe;

const VERB: Verb = Verb {
    name: "GetContainerEvents",
    reason: "RuntimeEventsLost",
};

/// An endless stream. It ends, or gives an error and ends, when the connection breaks: what happened
/// meanwhile has to be listed.
///
/// Runtimes written in Go send nothing at all before the first event, so that an open stream looks
/// like a call that hangs. A short call sent after it tells: once that is answered, a runtime without
/// events would have refused the stream.
pub(crate) async fn get_container_events(
    connection: &Connection,
) -> Result<BoxStream<'static, Result<RuntimeEvent, Fail>>, Fail> {
    let mut client = connection.runtime();
    let open = async move {
        client
            .get_container_events(Request::new(GetEventsRequest {}))
            .await
    };
    let mut open = open.boxed();
    let early = tokio::select! {
        biased;
        // Cancelled only by the other arm, and polled on below: the future is kept.
        answer = &mut open => Some(answer),
        // Cancelled when the stream was refused: Version changes nothing.
        proof = version(connection) => {
            proof?;
            (&mut open).now_or_never()
        }
    };
    let open = match early {
        Some(Err(status)) => return Err(fail::of(VERB, &status)),
        Some(Ok(response)) => std::future::ready(Ok(response)).boxed(),
        None => open,
    };
    let events = stream::once(open)
        .map_ok(Response::into_inner)
        .try_flatten();
    let events = events.filter_map(|item| {
        std::future::ready(match item {
            Ok(event) => observe::event(event).map(Ok),
            Err(status) => Some(Err(fail::of(VERB, &status))),
        })
    });
    Ok(events.boxed())
}
