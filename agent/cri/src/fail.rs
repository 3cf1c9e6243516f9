//! What a gRPC status means for the one who called.

use std::error::Error;

use agent_core::{Fail, FailKind};
use tonic::{Code, Status};

/// A call and what its failure is called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verb {
    /// Name of the method.
    pub(crate) name: &'static str,
    /// Reason in the stock kubelet's words.
    pub(crate) reason: &'static str,
}

/// The failure of one call.
pub(crate) fn of(verb: Verb, status: &Status) -> Fail {
    let message = match status.code() {
        Code::Unavailable => format!(
            "{}: the container runtime does not answer ({}): see whether it runs and listens there",
            verb.name,
            with_sources(status)
        ),
        Code::DeadlineExceeded | Code::Cancelled => format!(
            "{}: the container runtime took too long ({}): its log shows what it waits for",
            verb.name,
            status.message()
        ),
        Code::Unimplemented => {
            format!(
                "{}: this container runtime cannot do it ({})",
                verb.name,
                status.message()
            )
        }
        _ => format!("{}: {}", verb.name, status.message()),
    };
    Fail {
        kind: kind(status.code()),
        reason: verb.reason,
        message,
        image: None,
    }
}

/// Runtimes give most errors of their own as `Unknown`, and most of these pass: only codes that say
/// that the request itself is at fault are final.
fn kind(code: Code) -> FailKind {
    match code {
        Code::NotFound => FailKind::Gone,
        Code::InvalidArgument
        | Code::OutOfRange
        | Code::PermissionDenied
        | Code::Unauthenticated
        | Code::Unimplemented => FailKind::Permanent,
        _ => FailKind::Retry,
    }
}

/// The message and its causes: of a lost connection the status itself only says "transport error".
fn with_sources(status: &Status) -> String {
    let mut text = status.message().to_owned();
    let mut source = status.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests;
