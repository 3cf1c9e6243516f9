//! Trust bundles of projected volumes.

use std::collections::BTreeSet;
use std::sync::Arc;

use agent_core::Fail;
use k8s_openapi::api::core::v1::ClusterTrustBundleProjection;
use kube::core::{DynamicObject, Selector};

use super::follow::{Found, Query};

/// What `clusterTrustBundle` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TrustAsk {
    /// What to watch, `None`: nothing can match; `Err`: it can never be answered.
    pub(super) query: Result<Option<Query>, Fail>,
    /// The name of the one bundle, if it is asked for by name.
    name: Option<String>,
    /// Nothing found is no failure.
    optional: bool,
}

impl TrustAsk {
    pub(super) fn of(projection: &ClusterTrustBundleProjection) -> Self {
        Self {
            query: query(projection),
            name: projection.name.clone(),
            optional: projection.optional.unwrap_or(false),
        }
    }

    /// The anchors in PEM, each once. Nothing found and optional: empty, as the file then is.
    pub(super) fn answer(&self, found: &Found<DynamicObject>) -> Result<Arc<str>, Fail> {
        if found.is_empty() {
            return match &self.name {
                _ if self.optional => Ok(Arc::from("")),
                Some(name) => Err(Fail::gone(
                    MOUNT,
                    format!(
                        "while getting ClusterTrustBundle: \
                         clustertrustbundle.certificates.k8s.io {name:?} not found"
                    ),
                )),
                None => Err(Fail::gone(
                    MOUNT,
                    "combination of signerName and labelSelector matched zero ClusterTrustBundles",
                )),
            };
        }
        let bundles = found.values();
        let texts = bundles.filter_map(|bundle| bundle.data["spec"]["trustBundle"].as_str());
        anchors(texts)
    }
}

const MOUNT: &str = "FailedMount";

fn query(projection: &ClusterTrustBundleProjection) -> Result<Option<Query>, Fail> {
    if let Some(name) = &projection.name {
        return Ok(Some(Query::named(None, name)));
    }
    let Some(signer) = &projection.signer_name else {
        return Err(Fail::permanent(
            MOUNT,
            "ClusterTrustBundle projection requires either name or signerName to be set",
        ));
    };
    // No selector selects nothing, an empty one everything.
    let Some(labels) = &projection.label_selector else {
        return Ok(None);
    };
    let labels = Selector::try_from(labels.clone()).map_err(|error| {
        Fail::permanent(MOUNT, format!("while parsing label selector: {error}"))
    })?;
    let labels = labels.to_string();
    Ok(Some(Query {
        namespace: None,
        fields: Some(format!("spec.signerName={signer}")),
        labels: Some(labels).filter(|labels| !labels.is_empty()),
    }))
}

/// Certificates of several texts, without duplicates and without anything between them, in an order that
/// does not depend on the order of the bundles. The stock kubelet shuffles them at each start.
fn anchors<'a>(texts: impl Iterator<Item = &'a str>) -> Result<Arc<str>, Fail> {
    let mut all = BTreeSet::new();
    for text in texts {
        let blocks = pem::parse_many(text).map_err(|error| {
            Fail::permanent(MOUNT, format!("while normalizing trust anchors: {error}"))
        })?;
        all.extend(blocks.into_iter().map(pem::Pem::into_contents));
    }
    Ok(Arc::from(certificates(all)))
}

/// Certificates in PEM, one after the other.
pub(super) fn certificates(contents: impl IntoIterator<Item = Vec<u8>>) -> String {
    let blocks: Vec<_> = contents
        .into_iter()
        .map(|one| pem::Pem::new("CERTIFICATE", one))
        .collect();
    let lines = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
    blocks
        .iter()
        .map(|block| pem::encode_config(block, lines))
        .collect()
}

#[cfg(test)]
mod tests;
