//! One call to the API server, and what its answer means.

use std::time::Duration;

use agent_core::PodName;
use base_daemon::Chain;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::{Api, Client};
use serde_json::Value;
use tokio::time::timeout;

/// A call that takes longer has failed.
const LONGEST: Duration = Duration::from_secs(15);

/// What is asked of the API server. Both name the pod by its UID, so that another one of the same
/// name is never touched.
#[derive(Clone, Debug)]
pub(super) enum Call {
    /// Patch the status. The UID is in the patch.
    Write { name: PodName, patch: Value },
    /// Remove the object at once: nothing of the pod is left.
    Delete { name: PodName, uid: String },
}

/// What came of it.
#[derive(Debug)]
pub(super) enum Answer {
    /// The status is written; the object as it is now.
    Written(Box<Pod>),
    /// The object is gone, or goes once its finalizers are done.
    Deleted,
    /// There is no such pod.
    Gone,
    /// Another pod has the name, or somebody wrote at the same time.
    Conflict,
    /// This status is not taken, whenever it is sent.
    Refused(String),
    /// The server takes no more calls for this long.
    Busy { after: Duration },
    /// The server failed at this.
    Failed(String),
    /// The server cannot be reached, or does not know this node.
    Down(String),
}

impl Call {
    /// Of which pod.
    pub(super) fn name(&self) -> &PodName {
        match self {
            Self::Write { name, .. } | Self::Delete { name, .. } => name,
        }
    }

    /// Makes the call.
    pub(super) async fn make(&self, client: &Client) -> Answer {
        let api: Api<Pod> = Api::namespaced(client.clone(), &self.name().namespace);
        let result = timeout(LONGEST, async {
            match self {
                Self::Write { name, patch } => {
                    let parameters = PatchParams::default();
                    let patch = Patch::Strategic(patch);
                    let written = api.patch_status(&name.name, &parameters, &patch).await?;
                    Ok(Answer::Written(Box::new(written)))
                }
                Self::Delete { name, uid } => {
                    let parameters = DeleteParams {
                        grace_period_seconds: Some(0),
                        preconditions: Some(Preconditions {
                            uid: Some(uid.clone()),
                            resource_version: None,
                        }),
                        ..DeleteParams::default()
                    };
                    api.delete(&name.name, &parameters).await?;
                    Ok(Answer::Deleted)
                }
            }
        })
        .await;
        match result {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => failure(&error),
            Err(_) => Answer::Down(format!("no answer within {} s", LONGEST.as_secs())),
        }
    }
}

fn failure(error: &kube::Error) -> Answer {
    let kube::Error::Api(status) = error else {
        let text = Chain(error).to_string();
        return match error {
            // It answered, in words that this pod's object alone may have.
            kube::Error::SerdeError(_) | kube::Error::BuildRequest(_) => Answer::Refused(text),
            _ => Answer::Down(text),
        };
    };
    let text = format!("{} ({})", status.message, status.code);
    match status.code {
        404 | 410 => Answer::Gone,
        409 => Answer::Conflict,
        429 => {
            let asked = status
                .details
                .as_ref()
                .map_or(0, |details| details.retry_after_seconds);
            Answer::Busy {
                after: Duration::from_secs(u64::from(asked.clamp(1, 60))),
            }
        }
        // Nobody's call is taken until the node has credentials again.
        401 => Answer::Down(text),
        500.. => Answer::Failed(text),
        _ => Answer::Refused(text),
    }
}
