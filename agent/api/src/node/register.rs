//! Makes the Node object, or takes over the one that is there.

use std::sync::Arc;
use std::time::Duration;

use base_daemon::Backoff;
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::PostParams;

use super::calls::{CallError, within};
use super::facts::{Facts, StatusEvent};
use super::render::{self, Rendered};
use super::settings::NodeSettings;
use super::write::write;

/// First and longest delay between tries (Kubernetes 1.37).
pub(crate) const AGAIN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(7));

/// Delays between tries to register.
pub(crate) fn backoff() -> Backoff {
    Backoff::new(AGAIN.0, AGAIN.1)
}

/// One try. The answer is the object as the API server has it, and what of it is new.
pub(crate) async fn register(
    nodes: &Api<Node>,
    settings: &Arc<NodeSettings>,
    facts: &Facts,
) -> Result<(Node, Vec<StatusEvent>), CallError> {
    let limit = settings.call_limit();
    let Rendered { node, events, .. } = render::initial(settings, facts);
    let parameters = PostParams::default();
    match within(limit, nodes.create(&parameters, &node)).await {
        Ok(node) => {
            tracing::info!(node = settings.name, "registered as a new node");
            Ok((node, events))
        }
        // Who may not make the object may still own one that somebody else made.
        Err(error) if error.is_conflict() || error.is_forbidden() => {
            let old = within(limit, nodes.get(&settings.name)).await;
            let old = match old {
                Ok(old) => old,
                Err(gone) if gone.is_gone() => return Err(error),
                Err(other) => return Err(other),
            };
            adopt(nodes, settings, facts, old).await
        }
        Err(error) => Err(error),
    }
}

/// Takes over an object that is there.
pub(crate) async fn adopt(
    nodes: &Api<Node>,
    settings: &Arc<NodeSettings>,
    facts: &Facts,
    old: Node,
) -> Result<(Node, Vec<StatusEvent>), CallError> {
    let Rendered { node, events, .. } = render::adopted(&old, settings, facts);
    let node = write(nodes, settings, &old, &node).await?;
    tracing::info!(
        node = settings.name,
        "registered as a node that was known before"
    );
    Ok((node, events))
}
