//! Status, asked for what the runtime's handlers can do.

use agent_core::Fail;
use proto::cri::{RuntimeHandler, StatusRequest};

use crate::connection::Connection;
use crate::fail::Verb;

const VERB: Verb = Verb {
    name: "Status",
    reason: "RuntimeUnavailable",
};

/// Whether a handler can give pods user namespaces of their own; the empty name is the default one.
/// Runtimes that do not list their handlers (containerd before 2.0) cannot.
pub(crate) async fn user_namespaces(connection: &Connection, handler: &str) -> Result<bool, Fail> {
    let request = connection.request(StatusRequest { verbose: false });
    let response = connection
        .answer(VERB, connection.runtime().status(request))
        .await?;
    Ok(in_handlers(&response.runtime_handlers, handler))
}

fn in_handlers(handlers: &[RuntimeHandler], name: &str) -> bool {
    let mut handlers = handlers.iter().filter(|handler| handler.name == name);
    handlers.any(|handler| handler.features.is_some_and(|each| each.user_namespaces))
}

#[cfg(test)]
mod tests;
