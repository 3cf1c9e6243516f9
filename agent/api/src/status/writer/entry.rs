//! What the writer knows of one pod, and what is to be written of it.

use std::sync::Arc;
use std::time::Duration;

use agent_core::{Life, PodName, Time};
use agent_loops::PodSnapshot;
use base_daemon::Backoff;
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use serde_json::Value;
use tokio::time::Instant;

use super::call::{Answer, Call};
use crate::pods::{ApiPods, mirror_hash};
use crate::status::patch;
use crate::status::render::{NodeFacts, render};

/// First and longest pause of one pod after a call that came to nothing.
const PAUSE: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(30));
/// First and longest time until a status that was refused is sent again unchanged.
const REFUSED: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(300));

/// How long a change that nobody waits for is held back, since the next one mostly takes it along:
/// fewer writes leave the API server to those that matter. Kubernetes 1.37 sees what happens to
/// containers once a second.
const CALM: Duration = Duration::from_secs(1);

/// One pod.
#[derive(Debug)]
pub(super) struct Entry {
    /// What the agent shows.
    pub(super) snapshot: Option<Arc<PodSnapshot>>,
    /// What the watch has shown: the pod, or the mirror of a static one.
    pod: Option<Arc<Pod>>,
    /// Answer to the last write, until the watch has caught up with it.
    written: Option<Arc<Pod>>,
    /// What was rendered last.
    earlier: Option<PodStatus>,
    /// A call is under way.
    pub(super) busy: bool,
    /// It is in the queue.
    pub(super) queued: bool,
    backoff: Backoff,
    /// No call before this.
    pause: Option<Instant>,
    refusals: Backoff,
    /// A patch that changed nothing or was refused, and when it may be sent again.
    refused: Option<(Value, Instant)>,
    /// A deletion was answered, and the watch has shown nothing since.
    deleting: bool,
    /// Until when a change is held back.
    held: Option<Instant>,
    /// A change was held back for long enough.
    due: bool,
}

impl Default for Entry {
    fn default() -> Self {
        Self {
            snapshot: None,
            pod: None,
            written: None,
            earlier: None,
            busy: false,
            queued: false,
            backoff: Backoff::new(PAUSE.0, PAUSE.1),
            pause: None,
            refusals: Backoff::new(REFUSED.0, REFUSED.1),
            refused: None,
            deleting: false,
            held: None,
            due: false,
        }
    }
}

impl Entry {
    /// Takes in what the API has. True: it is something else than before.
    pub(super) fn see(&mut self, pod: Option<Arc<Pod>>) -> bool {
        let same = match (&self.pod, &pod) {
            (Some(one), Some(two)) => Arc::ptr_eq(one, two),
            (None, None) => true,
            _ => false,
        };
        if same {
            return false;
        }
        // The watch shows every write once more, and a deletion first as a change of the grace period.
        let identity = |pod: &Arc<Pod>| (pod.metadata.uid.clone(), version(pod));
        let shown = self.written.as_ref().map(identity);
        let write = shown.is_some() && shown == pod.as_ref().map(identity);
        let deletion = self.deleting && pod.as_ref().is_some_and(|pod| grace(pod) == Some(0));
        self.deleting &= write;
        let caught_up = |written: &Arc<Pod>| {
            pod.as_ref()
                .is_none_or(|pod| uid(pod) != uid(written) || version(pod) >= version(written))
        };
        // A data store that was restored counts versions from an earlier one.
        let back = self
            .pod
            .as_ref()
            .zip(pod.as_ref())
            .is_some_and(|(old, new)| version(new) < version(old));
        if back || self.written.as_ref().is_some_and(caught_up) {
            self.written = None;
        }
        self.pod = pod;
        if write || deletion {
            return false;
        }
        // What came too late may be right for what is there now.
        self.pause = None;
        true
    }

    /// Whether anything would be forgotten with it.
    pub(super) fn is_of_use(&self) -> bool {
        self.snapshot.is_some() || self.busy
    }

    pub(super) fn pauses(&self, now: Instant) -> bool {
        self.pause.is_some_and(|until| now < until)
    }

    /// When something of it is to be tried again.
    pub(super) fn wake(&self) -> Option<Instant> {
        let refused = self.refused.as_ref().map(|(_, until)| *until);
        [self.pause, refused, self.held].into_iter().flatten().min()
    }

    /// Whether a pause is over; it is told once.
    pub(super) fn rested(&mut self, now: Instant) -> bool {
        let pause = self.pause.take_if(|until| *until <= now).is_some();
        let refused = self.refused.take_if(|(_, until)| *until <= now).is_some();
        let held = self.held.take_if(|until| *until <= now).is_some();
        self.due |= held;
        pause || refused || held
    }

    /// Holds nothing back any more. True: something was.
    pub(super) fn hurry(&mut self) -> bool {
        let held = self.held.take().is_some();
        self.due |= held;
        held
    }

    /// Renders what cannot be written yet, so that conditions keep the time of their change.
    pub(super) fn draft(&mut self, node: &NodeFacts, now: Time) {
        if let (Some(snapshot), Some(pod)) = (&self.snapshot, self.newest()) {
            self.earlier = Some(render(snapshot, pod, self.earlier.as_ref(), node, now));
        }
    }

    /// The call to make now, if there is something to write or to delete.
    pub(super) fn next(&mut self, node: &NodeFacts, now: Time) -> Option<Call> {
        let snapshot = Arc::clone(self.snapshot.as_ref()?);
        let pod = Arc::clone(self.newest()?);
        let mirror = mirror_hash(&pod).is_some();
        let deleted = pod.metadata.deletion_timestamp.is_some();
        if mirror && deleted {
            // Another one is made in its place.
            return None;
        }
        let status = render(&snapshot, &pod, self.earlier.as_ref(), node, now);
        let blank = PodStatus::default();
        let has = pod.status.as_ref().unwrap_or(&blank);
        let id = uid(&pod).unwrap_or_default();
        let patch = match patch::between(id, has, &status) {
            Ok(patch) => patch,
            Err(error) => {
                tracing::error!(pod = %snapshot.name, %error, "a status cannot be written as JSON");
                None
            }
        };
        let over = deleted && snapshot.life == Life::Done;
        let waits = patch.is_some() && !over && !self.due && !is_pressing(has, &status);
        self.earlier = Some(status);
        if waits {
            self.held.get_or_insert(Instant::now() + CALM);
            return None;
        }
        (self.held, self.due) = (None, false);
        let name = snapshot.name.clone();
        match patch {
            Some(patch) if !self.is_refused(&patch) => Some(Call::Write { name, patch }),
            // The last status is there, or it never will be.
            _ if over => Some(Call::Delete {
                name,
                uid: id.to_owned(),
            }),
            _ => None,
        }
    }

    fn is_refused(&self, patch: &Value) -> bool {
        self.refused
            .as_ref()
            .is_some_and(|(refused, _)| refused == patch)
    }

    /// The object as it was seen last, by the watch or in an answer.
    fn newest(&self) -> Option<&Arc<Pod>> {
        // Gone in the API is gone, whatever was answered before.
        let pod = self.pod.as_ref()?;
        Some(self.written.as_ref().unwrap_or(pod))
    }

    /// Takes in the answer to a call.
    pub(super) fn answered(&mut self, call: &Call, answer: Answer) {
        let now = Instant::now();
        self.deleting = matches!(answer, Answer::Deleted);
        match answer {
            Answer::Written(mut pod) => {
                self.backoff.reset();
                pod.metadata.managed_fields = None;
                self.take_written(Arc::new(*pod));
                // Sent again it would be the same: the server has its own idea of it.
                if let Call::Write { patch, .. } = call {
                    self.suspect(patch, now);
                }
            }
            Answer::Refused(_) => match call {
                Call::Write { patch, .. } => {
                    let until = now + self.refusals.step();
                    self.refused = Some((patch.clone(), until));
                }
                Call::Delete { .. } => self.pause = Some(now + self.backoff.step()),
            },
            // The gate paces all of them together, and the first one that works lets all others go.
            Answer::Down(_) | Answer::Busy { .. } => {}
            // This may be about this pod alone, so it does not come first again.
            Answer::Failed(_) | Answer::Deleted | Answer::Gone | Answer::Conflict => {
                self.pause = Some(now + self.backoff.step());
            }
        }
    }

    fn take_written(&mut self, pod: Arc<Pod>) {
        let Some(seen) = &self.pod else { return };
        if uid(seen) == uid(&pod) && version(seen) < version(&pod) {
            self.written = Some(pod);
        }
    }

    /// Remembers a patch that has been written and would be sent again.
    fn suspect(&mut self, patch: &Value, now: Instant) {
        let unchanged = || {
            let (pod, earlier) = (self.newest()?, self.earlier.as_ref()?);
            let has = pod.status.as_ref()?;
            patch::between(uid(pod)?, has, earlier).ok()?
        };
        if unchanged().is_some_and(|again| again == *patch) {
            let until = now + self.refusals.step();
            self.refused = Some((patch.clone(), until));
        } else {
            self.refusals.reset();
            self.refused = None;
        }
    }
}

/// Whether somebody may wait for the change: not while a pod that starts is still starting, and not
/// when it says no more than which generation it belongs to.
fn is_pressing(has: &PodStatus, status: &PodStatus) -> bool {
    let starting = |status: &PodStatus| {
        status.phase.as_deref() == Some("Pending") && status.start_time.is_some()
    };
    let bare = |status: &PodStatus| {
        let mut status = status.clone();
        status.observed_generation = None;
        for condition in status.conditions.iter_mut().flatten() {
            condition.observed_generation = None;
        }
        status
    };
    !(starting(has) && starting(status)) && bare(has) != bare(status)
}

/// The mirror of a static pod with this hash.
pub(super) fn mirror_of(objects: &ApiPods, name: &PodName, hash: &str) -> Option<Arc<Pod>> {
    let mirror = objects.mirrors.get(name)?;
    (mirror_hash(mirror) == Some(hash)).then(|| Arc::clone(mirror))
}

fn grace(pod: &Pod) -> Option<i64> {
    pod.metadata.deletion_grace_period_seconds
}

fn uid(pod: &Pod) -> Option<&str> {
    pod.metadata.uid.as_deref()
}

/// Kubernetes 1.37 promises that versions of one resource are numbers that grow. One that is none
/// counts as the oldest, so that the watch's word counts.
fn version(pod: &Pod) -> u128 {
    let version = pod.metadata.resource_version.as_deref();
    version
        .and_then(|version| version.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests;
