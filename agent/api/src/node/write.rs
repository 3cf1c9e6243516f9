//! Writes a Node object's status.

use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{Patch, PatchParams};

use super::calls::{CallError, within};
use super::patch;
use super::settings::NodeSettings;

/// Turns `old` into `new` by a patch of the status subresource, which takes labels and annotations too.
/// Answers with the object as the API server has it then.
pub(crate) async fn write(
    nodes: &Api<Node>,
    settings: &NodeSettings,
    old: &Node,
    new: &Node,
) -> Result<Node, CallError> {
    let Some(patch) = patch::between(old, new).map_err(kube::Error::SerdeError)? else {
        return Ok(old.clone());
    };
    let parameters = PatchParams::default();
    let patch = Patch::Strategic(patch);
    let call = nodes.patch_status(&settings.name, &parameters, &patch);
    within(settings.call_limit(), call).await
}
