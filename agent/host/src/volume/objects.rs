//! Objects of the API that files and variables are made from.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent_core::{Fail, FailKind};
use agent_loops::ports::References;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

use super::VolumeError;

/// A secret; `None`: it is optional and not there.
pub(super) fn secret<'a>(
    references: &'a References,
    name: &str,
    optional: bool,
) -> Result<Option<&'a Secret>, VolumeError> {
    find(&references.secrets, "secret", name, optional)
}

/// A ConfigMap; `None`: it is optional and not there.
pub(super) fn config_map<'a>(
    references: &'a References,
    name: &str,
    optional: bool,
) -> Result<Option<&'a ConfigMap>, VolumeError> {
    find(&references.config_maps, "configmap", name, optional)
}

/// One that nobody has looked for counts as one that is not there.
fn find<'a, T>(
    objects: &'a BTreeMap<String, Result<Arc<T>, Fail>>,
    kind: &str,
    name: &str,
    optional: bool,
) -> Result<Option<&'a T>, VolumeError> {
    match objects.get(name) {
        Some(Ok(object)) => Ok(Some(object)),
        Some(Err(fail)) if fail.kind != FailKind::Gone => Err(VolumeError::Object(fail.clone())),
        _ if optional => Ok(None),
        _ => Err(VolumeError::Wrong(format!("{kind} {name:?} not found"))),
    }
}
