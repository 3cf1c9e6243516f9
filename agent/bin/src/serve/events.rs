//! What happened, in terms of the wire.

use std::pin::Pin;
use std::sync::Arc;

use agent_loops::{AgentEvent, EventKind, EventLog, Subject};
use futures::{Stream, StreamExt, stream};
use proto::gpulet::Event;
use tokio::sync::broadcast::error::RecvError;
use tonic::Status;

/// Stream of the `WatchEvents` call.
pub(super) type Events = Pin<Box<dyn Stream<Item = Result<Event, Status>> + Send>>;

/// What is kept, and with `follow` everything from then on. A client that reads too slowly is told
/// that it missed some, and goes on with the newest.
pub(super) fn watch(log: &EventLog, follow: bool) -> Events {
    let (kept, live) = log.subscribe();
    let kept = stream::iter(kept.into_iter().map(|event| Ok(message(&event))));
    if !follow {
        return Box::pin(kept);
    }
    let live = stream::unfold(live, async |mut live| {
        let event = match live.recv().await {
            Ok(event) => message(&event),
            Err(RecvError::Lagged(missed)) => lagged(missed),
            Err(RecvError::Closed) => return None,
        };
        Some((Ok(event), live))
    });
    Box::pin(kept.chain(live))
}

fn lagged(missed: u64) -> Event {
    Event {
        r#type: "Warning".to_owned(),
        reason: "EventsMissed".to_owned(),
        subject: "node".to_owned(),
        message: format!("this reader was too slow and missed {missed} events"),
        count: 1,
        ..Event::default()
    }
}

fn message(event: &Arc<AgentEvent>) -> Event {
    let (subject, container) = match &event.subject {
        Subject::Node => ("node".to_owned(), String::new()),
        Subject::Part(name) => (name.clone(), String::new()),
        Subject::Pod { name, .. } => (name.to_string(), String::new()),
        Subject::Container {
            name, container, ..
        } => (name.to_string(), container.to_string()),
    };
    Event {
        number: event.sequence,
        at: event.time.0,
        r#type: match event.kind {
            EventKind::Normal => "Normal",
            EventKind::Warning => "Warning",
        }
        .to_owned(),
        reason: event.reason.to_string(),
        subject,
        container,
        message: event.message.clone(),
        why: event.why.clone().unwrap_or_default(),
        count: event.count,
    }
}
