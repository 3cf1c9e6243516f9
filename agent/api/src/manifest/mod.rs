//! A manifest file's text into a pod: read, identified, filled with the API's defaults, checked, and
//! translated into what decisions read.

mod api_objects;
mod check;
mod container_hash;
mod defaults;
mod identity;
mod needs;
mod unknown;
mod want;

use std::path::Path;
use std::sync::Arc;

use agent_loops::ports::WantedPod;
use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;

use crate::document::{self, DocumentError};
use crate::problem::{self, Problem};

pub use container_hash::container_hash;
pub(crate) use want::{common, from_api};

/// Where a manifest lies and which node it is for. Both are part of a generated UID.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin<'a> {
    /// The file.
    pub(crate) path: &'a Path,
    /// The node's name.
    pub(crate) node: &'a str,
}

/// A usable manifest.
#[derive(Clone, Debug)]
pub(crate) struct Parsed {
    /// The pod.
    pub(crate) pod: WantedPod,
    /// What its author should know.
    pub(crate) warnings: Vec<String>,
}

/// Why a manifest is no pod that can run here.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ManifestError {
    /// Neither YAML nor JSON.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// Something else than a pod.
    #[error("apiVersion {api_version} and kind {kind} are no pod; they must be v1 and Pod")]
    Kind {
        /// What it says.
        api_version: Value,
        /// What it says.
        kind: Value,
    },
    /// A field of the wrong type.
    #[error("{field}: {message}")]
    Type {
        /// Way to the field.
        field: String,
        /// What it is and should be.
        message: String,
    },
    /// Something that only a control plane can provide.
    #[error("{field}: a static pod may not use {what}, which only a control plane provides")]
    ApiObject {
        /// Way to the field.
        field: String,
        /// Kind of object.
        what: &'static str,
    },
    /// Wrong values, all of them.
    #[error("{}", problem::join(.0))]
    Values(Vec<Problem>),
}

/// Turns the bytes of a manifest file into a pod of this node.
pub(crate) fn parse(bytes: &[u8], origin: Origin<'_>) -> Result<Parsed, ManifestError> {
    let document = document::read(bytes)?;
    let value = document.value;
    let of = |key: &str| value.get(key).cloned().unwrap_or(Value::Null);
    let (api_version, kind) = (of("apiVersion"), of("kind"));
    if api_version != "v1" || kind != "Pod" {
        return Err(ManifestError::Kind { api_version, kind });
    }
    let generated = identity::generated_uid(&value, origin);
    let mut pod: Pod =
        serde_path_to_error::deserialize(&value).map_err(|error| ManifestError::Type {
            field: error.path().to_string(),
            message: error.inner().to_string(),
        })?;
    let mut warnings = Vec::new();
    if document.further > 0 {
        warnings.push(format!(
            "only the first of {} documents is used",
            document.further + 1
        ));
    }
    let unknown = unknown::fields(&value, &pod);
    if !unknown.is_empty() {
        warnings.push(format!(
            "fields that do not exist are ignored: {}",
            unknown.join(", ")
        ));
    }
    let named = pod.metadata.name.is_some();
    identity::give(&mut pod, generated, origin.node);
    defaults::apply(&mut pod);
    api_objects::refuse(&pod)?;
    let problems = check::all(&pod, named);
    if !problems.is_empty() {
        return Err(ManifestError::Values(problems));
    }
    let want = want::pod(&pod);
    Ok(Parsed {
        pod: WantedPod {
            want: Arc::new(want),
            manifest: Arc::new(pod),
        },
        warnings,
    })
}

#[cfg(test)]
mod tests;
