//! Two witnesses outside the agent: every version of every pod in the API, and what containerd runs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Result, ensure};
use e2e::{Cri, Objects, POD, condition};
use proto::cri::{ContainerState, PodSandboxState};
use serde_json::Value;
use tokio::sync::watch;

/// Between two looks at containerd. A second container would run for longer.
const LOOK: Duration = Duration::from_millis(50);
/// How the stock kubelet writes the start of a container that never started.
const NEVER: &str = "1970-01-01T00:00:00Z";
/// The whole scenario.
const LIMIT: Duration = Duration::from_secs(600);

/// The pods of the API as they were, by UID.
#[derive(Default)]
pub(super) struct Pods(BTreeMap<String, Past>);

/// What one pod has been.
#[derive(Default)]
struct Past {
    name: String,
    ready: bool,
    flips: usize,
    /// Ends that nobody asked for.
    lost: BTreeSet<String>,
}

impl Pods {
    /// Looks at every version of every pod until the end.
    pub(super) async fn watch(
        &mut self,
        objects: &Objects,
        mut end: watch::Receiver<bool>,
    ) -> Result<()> {
        let objects = objects.within(LIMIT);
        let watching = objects.until_all(POD, "app=web", |pods| {
            pods.iter().for_each(|pod| self.look(pod));
            ensure!(false, "it goes on");
            Ok(())
        });
        tokio::select! {
            outcome = watching => outcome,
            // The other arm only remembers what it saw.
            outcome = end.wait_for(|end| *end) => {
                outcome?;
                Ok(())
            }
        }
    }

    fn look(&mut self, pod: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let past = self.0.entry(text(&pod["metadata"]["uid"])).or_default();
        past.name = text(&pod["metadata"]["name"]);
        let container = &pod["status"]["containerStatuses"][0];
        // A container that never ran may have to be made anew: containerd gives up a start whose caller dies.
        let ended = container["lastState"]["terminated"]["startedAt"].as_str();
        if ended.is_some_and(|started| started != NEVER) {
            past.lost.insert(format!("was restarted: {container}"));
        }
        // What ends is not Ready any more, and may end as it likes.
        if pod["metadata"]["deletionTimestamp"].is_string() {
            return;
        }
        let phase = pod["status"]["phase"].as_str().unwrap_or_default();
        if ["Failed", "Succeeded"].contains(&phase) {
            past.lost
                .insert(format!("ended by itself: {}", pod["status"]));
        }
        let ready = condition(pod, "Ready", "True").is_ok();
        past.flips += usize::from(past.ready && !ready);
        past.ready = ready;
    }

    /// How many pods there were.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Pods that ended or were restarted without being asked to.
    pub(super) fn lost(&self) -> Vec<String> {
        let lines = |past: &Past| {
            let lines = past
                .lost
                .iter()
                .map(|fault| format!("{} {fault}", past.name));
            lines.collect::<Vec<_>>()
        };
        self.0.values().flat_map(lines).collect()
    }

    /// Pods that stopped being Ready before anybody deleted them.
    pub(super) fn flips(&self) -> Vec<String> {
        let flipped = self.0.values().filter(|past| past.flips > 0);
        flipped
            .map(|past| format!("{} stopped being Ready {} times", past.name, past.flips))
            .collect()
    }
}

/// What containerd ran, by the pods' UIDs.
#[derive(Default)]
pub(super) struct Containers {
    /// All containers that were ever seen running.
    ran: BTreeMap<String, BTreeSet<String>>,
    /// All sandboxes that were seen ready at one time, where they were several.
    doubled: BTreeMap<String, BTreeSet<String>>,
}

impl Containers {
    /// Looks again and again until the end.
    pub(super) async fn watch(&mut self, cri: &Cri, end: watch::Receiver<bool>) -> Result<()> {
        while !*end.borrow() {
            let running = ContainerState::ContainerRunning as i32;
            for container in cri.containers().await? {
                if container.state == running {
                    let pod = uid(container.labels);
                    self.ran.entry(pod).or_default().insert(container.id);
                }
            }
            let ready = PodSandboxState::SandboxReady as i32;
            let mut sandboxes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            for sandbox in cri.sandboxes().await? {
                if sandbox.state == ready {
                    let pod = uid(sandbox.labels);
                    sandboxes.entry(pod).or_default().insert(sandbox.id);
                }
            }
            sandboxes.retain(|_, ids| ids.len() > 1);
            self.doubled.extend(sandboxes);
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    /// Pods of which more than one container ran, at one time or one after the other, or that had two networks.
    pub(super) fn faults(&self) -> Vec<String> {
        let ran = self.ran.iter().filter(|(_, ids)| ids.len() > 1);
        let ran = ran.map(|(pod, ids)| format!("containers {ids:?} of the pod {pod} ran"));
        let doubled = self.doubled.iter();
        let doubled = doubled.map(|(pod, ids)| format!("the pod {pod} had the sandboxes {ids:?}"));
        ran.chain(doubled).collect()
    }
}

fn uid(labels: impl IntoIterator<Item = (String, String)>) -> String {
    let mut uids = labels
        .into_iter()
        .filter(|(name, _)| name == "io.kubernetes.pod.uid");
    uids.next().map(|(_, uid)| uid).unwrap_or_default()
}
