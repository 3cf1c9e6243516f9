//! Volumes behind PersistentVolumeClaims.
//!
//! A node may read claims one by one only, so there is nothing to watch: a claim is asked for again
//! until it is bound, and a bound one stays as it was read for the life of the pod.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use agent_core::Fail;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use kube::{Api, Client};

use crate::request::{RequestFailure, within};

/// Bound volumes of one pod, by claim.
#[derive(Debug, Default)]
pub(super) struct Claims {
    // A plain lock: held for a look-up, never over an await.
    bound: Mutex<BTreeMap<String, Arc<PersistentVolume>>>,
}

impl Claims {
    /// The volume of a claim. `owned`: the claim was made for this pod, which has to own it.
    pub(super) async fn volume(
        &self,
        client: &Client,
        pod: &Pod,
        name: &str,
        owned: bool,
    ) -> Result<Arc<PersistentVolume>, Fail> {
        if let Some(volume) = self.bound().get(name) {
            return Ok(Arc::clone(volume));
        }
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let volume = find(client, namespace, name, owned.then_some(pod)).await;
        let volume = volume.map_err(|error| match error {
            ClaimError::NotOwned { .. } => Fail::permanent("FailedMount", error.to_string()),
            // Even a missing claim may still appear, and no claim is optional.
            _ => Fail::retry(
                "FailedMount",
                format!("error processing PVC {namespace}/{name}: {error}"),
            ),
        })?;
        let volume = Arc::new(volume);
        self.bound().insert(name.to_owned(), Arc::clone(&volume));
        Ok(volume)
    }

    fn bound(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<PersistentVolume>>> {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a claim gives no volume. Kubernetes 1.37: texts of `desired_state_of_world_populator`.
#[derive(Debug, thiserror::Error)]
enum ClaimError {
    #[error("failed to fetch PVC from API server: {0}")]
    Claim(RequestFailure),
    #[error("PVC {claim} was not created for pod {pod} (pod is not owner)")]
    NotOwned { claim: String, pod: String },
    #[error("PVC is being deleted")]
    Deleting,
    #[error("PVC is not bound")]
    NotBound,
    #[error("PVC has empty pvc.Spec.VolumeName")]
    NoVolume,
    #[error("failed to fetch PV {0} from API server: {1}")]
    Volume(String, RequestFailure),
    #[error(
        "found PV object {0} but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim"
    )]
    Unclaimed(String),
    #[error("found PV object {0} but its pv.Spec.ClaimRef.UID {1} does not point to claim.UID {2}")]
    OtherClaim(String, String, String),
}

async fn find(
    client: &Client,
    namespace: &str,
    name: &str,
    owner: Option<&Pod>,
) -> Result<PersistentVolume, ClaimError> {
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), namespace);
    let claim = within(claims.get(name)).await.map_err(ClaimError::Claim)?;
    if let Some(pod) = owner.filter(|pod| !is_owned(&claim, pod)) {
        return Err(ClaimError::NotOwned {
            claim: format!("{namespace}/{name}"),
            pod: format!(
                "{namespace}/{}",
                pod.metadata.name.as_deref().unwrap_or_default()
            ),
        });
    }
    let (claim_uid, volume) = bound_volume(claim)?;
    let volumes: Api<PersistentVolume> = Api::all(client.clone());
    let found = within(volumes.get(&volume)).await;
    let found = found.map_err(|error| ClaimError::Volume(volume.clone(), error))?;
    let claim = found.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref());
    match claim {
        None => Err(ClaimError::Unclaimed(volume)),
        Some(claim) if claim.uid.as_deref() != Some(claim_uid.as_str()) => {
            let other = claim.uid.clone().unwrap_or_default();
            Err(ClaimError::OtherClaim(volume, other, claim_uid))
        }
        Some(_) => Ok(found),
    }
}

/// UID of a claim and the name of its volume.
fn bound_volume(claim: PersistentVolumeClaim) -> Result<(String, String), ClaimError> {
    let metadata = claim.metadata;
    let mut finalizers = metadata.finalizers.iter().flatten();
    let is_protected = finalizers.any(|one| one == "kubernetes.io/pvc-protection");
    if metadata.deletion_timestamp.is_some() && !is_protected {
        return Err(ClaimError::Deleting);
    }
    let phase = claim.status.and_then(|status| status.phase);
    if phase.as_deref() != Some("Bound") {
        return Err(ClaimError::NotBound);
    }
    let volume = claim.spec.and_then(|spec| spec.volume_name);
    match volume.filter(|volume| !volume.is_empty()) {
        None => Err(ClaimError::NoVolume),
        Some(volume) => Ok((metadata.uid.unwrap_or_default(), volume)),
    }
}

fn is_owned(claim: &PersistentVolumeClaim, pod: &Pod) -> bool {
    let mut owners = claim.metadata.owner_references.iter().flatten();
    owners.any(|owner| {
        owner.controller == Some(true) && Some(&owner.uid) == pod.metadata.uid.as_ref()
    })
}

#[cfg(test)]
mod tests;
