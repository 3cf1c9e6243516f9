//! Mirrors of static pods: what the API shows of pods that it did not make.
//!
//! A mirror follows its static pod and never the other way round: deleting one brings it back.

mod plan;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agent_core::PodName;
use agent_loops::PodBoard;
use agent_loops::ports::SourceSnapshot;
use base_daemon::{Backoff, Chain};
use futures::future;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, PostParams, Preconditions};
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{debug, info, warn};

use super::cache::ApiPods;
use plan::{Owner, Step};

/// What mirrors follow from.
#[derive(Debug)]
pub struct MirrorInputs {
    /// Sources of static pods. Until all of them have reported no mirror is deleted.
    pub statics: Vec<watch::Receiver<Option<SourceSnapshot>>>,
    /// A static pod that still ends keeps its mirror.
    pub board: watch::Receiver<Arc<PodBoard>>,
    /// Mirrors that are there.
    pub objects: watch::Receiver<Arc<ApiPods>>,
    /// UID of this node's object, which owns the mirrors; `None` until the node is registered. No
    /// mirror is made without it.
    pub node_uid: watch::Receiver<Option<String>>,
}

/// First and longest pause after a call that failed.
const PAUSE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));
/// How long the watch may take to show what a call has done.
const SHOWN: Duration = Duration::from_secs(10);
/// A call that takes longer has failed.
const CALL: Duration = Duration::from_secs(15);

/// Keeps the mirrors in the API equal to the static pods, until the board has no owner any more.
pub async fn keep_mirrors(client: Client, node_name: String, mut inputs: MirrorInputs) {
    let mut holds = BTreeMap::new();
    loop {
        let steps = steps(&mut inputs, &node_name, &mut holds);
        let calls = steps.into_iter().map(|step| {
            // What fails again is no news.
            let again = holds.get(step.name()).is_some_and(|hold| !hold.worked);
            call(&client, step, again)
        });
        let calls: Vec<_> = calls.collect();
        let now = Instant::now();
        for (name, uid, worked) in future::join_all(calls).await {
            let hold = holds.entry(name).or_insert_with(Hold::new);
            hold.uid = uid;
            hold.until = if worked {
                hold.backoff.reset();
                now + SHOWN
            } else {
                now + hold.backoff.step()
            };
            hold.worked = worked;
        }
        let next = holds
            .values()
            .map(|hold| hold.until)
            .filter(|until| *until > now);
        let next = next.min();
        let timer = async {
            match next {
                Some(next) => sleep_until(next).await,
                None => future::pending().await,
            }
        };
        // Cancelling any of them loses nothing: the newest content stays in its channel.
        tokio::select! {
            changed = inputs.board.changed() => if changed.is_err() { return },
            () = any_changed(&mut inputs.statics) => {}
            () = changed(&mut inputs.objects) => {}
            () = changed(&mut inputs.node_uid) => {}
            () = timer => {}
        }
    }
}

/// Why nothing is done about one name for a while.
#[derive(Debug)]
struct Hold {
    backoff: Backoff,
    until: Instant,
    /// UID of the mirror when the call was made.
    uid: Option<String>,
    worked: bool,
}

impl Hold {
    fn new() -> Self {
        Self {
            backoff: Backoff::new(PAUSE.0, PAUSE.1),
            until: Instant::now(),
            uid: None,
            worked: false,
        }
    }
}

/// What there is to do now.
fn steps(
    inputs: &mut MirrorInputs,
    node_name: &str,
    holds: &mut BTreeMap<PodName, Hold>,
) -> Vec<Step> {
    let statics: Vec<Option<SourceSnapshot>> = inputs
        .statics
        .iter_mut()
        .map(|source| source.borrow_and_update().clone())
        .collect();
    let board = Arc::clone(&inputs.board.borrow_and_update());
    let objects = Arc::clone(&inputs.objects.borrow_and_update());
    let uid = inputs.node_uid.borrow_and_update().clone();
    let owner = uid.as_deref().map(|uid| Owner {
        name: node_name,
        uid,
    });
    let mut steps = plan::steps(&statics, &board, &objects, owner);
    let now = Instant::now();
    let shown = |name: &PodName| {
        objects
            .mirrors
            .get(name)
            .and_then(|pod| pod.metadata.uid.clone())
    };
    // What a call has done is over once the watch shows it.
    holds.retain(|name, hold| !(hold.worked && hold.uid != shown(name)) && wanted(&steps, name));
    steps.retain(|step| holds.get(step.name()).is_none_or(|hold| hold.until <= now));
    steps
}

fn wanted(steps: &[Step], name: &PodName) -> bool {
    steps.iter().any(|step| step.name() == name)
}

/// Does one step, which has failed before when `again`. Returns the name, the UID of the mirror as it was, and whether it worked.
async fn call(client: &Client, step: Step, again: bool) -> (PodName, Option<String>, bool) {
    let name = step.name().clone();
    let api: Api<Pod> = Api::namespaced(client.clone(), &name.namespace);
    let (uid, verb) = match &step {
        Step::Create { .. } => (None, "create"),
        Step::Delete { uid, .. } => (Some(uid.clone()), "delete"),
    };
    let result = timeout(CALL, async {
        match &step {
            Step::Create { pod, .. } => api.create(&PostParams::default(), pod).await.map(drop),
            Step::Delete { uid, .. } => {
                let parameters = DeleteParams {
                    grace_period_seconds: Some(0),
                    preconditions: Some(Preconditions {
                        uid: Some(uid.clone()),
                        resource_version: None,
                    }),
                    ..DeleteParams::default()
                };
                api.delete(&name.name, &parameters).await.map(drop)
            }
        }
    })
    .await;
    let worked = match result {
        Ok(Ok(())) => {
            info!(pod = %name, "mirror pod: {verb}d");
            true
        }
        // Somebody was faster; the watch will show who.
        Ok(Err(kube::Error::Api(status))) if matches!(status.code, 404 | 409) => {
            debug!(pod = %name, error = %status.message, "mirror pod: {verb} came too late");
            status.code == 404
        }
        Ok(Err(error)) => {
            failed(&name, verb, again, &Chain(&error).to_string());
            false
        }
        Err(_) => {
            failed(&name, verb, again, "the API server did not answer in time");
            false
        }
    };
    (name, uid, worked)
}

fn failed(pod: &PodName, verb: &str, again: bool, why: &str) {
    if again {
        debug!(%pod, why, "cannot {verb} the mirror pod yet");
    } else {
        warn!(%pod, why, "cannot {verb} the mirror pod, trying again; the static pod runs all the same");
    }
}

/// Waits for news; a channel without a sender has none any more.
async fn changed<T>(receiver: &mut watch::Receiver<T>) {
    if receiver.changed().await.is_err() {
        future::pending().await
    }
}

async fn any_changed<T>(receivers: &mut [watch::Receiver<T>]) {
    if receivers.is_empty() {
        future::pending().await
    }
    let all = receivers.iter_mut().map(|each| Box::pin(changed(each)));
    future::select_all(all).await;
}

#[cfg(test)]
mod tests;
