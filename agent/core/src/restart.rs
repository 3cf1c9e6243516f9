//! Whether and when an ended container is started again.

use std::time::Duration;

use crate::have::{ContainerHave, Exit};
use crate::time::Time;
use crate::view::PodView;
use crate::want::{ContainerWant, PodWant, RestartPolicy};

/// Whether the end of a container restarts all of them: the first rule that matches its exit code says
/// so.
pub(crate) fn restarts_all(container: &ContainerWant, code: i32) -> bool {
    let mut rules = container.restart_rules.iter();
    rules
        .find(|rule| rule.within == rule.codes.contains(&code))
        .is_some_and(|rule| rule.all)
}

/// What the policy says about this exit code: rules of the container, its own policy, the pod's.
pub(crate) fn restarts(want: &PodWant, container: &ContainerWant, code: i32) -> bool {
    let ruled = container
        .restart_rules
        .iter()
        .any(|rule| rule.within == rule.codes.contains(&code));
    ruled
        || match container.restart.unwrap_or(want.restart) {
            RestartPolicy::Always => true,
            RestartPolicy::OnFailure => code != 0,
            RestartPolicy::Never => false,
        }
}

/// The same for an instance that has ended: one that was stopped because its definition had changed
/// is replaced whatever the policy says.
pub(crate) fn restarts_after(
    view: &PodView<'_>,
    want: &PodWant,
    container: &ContainerWant,
    last: &ContainerHave,
    exit: &Exit,
) -> bool {
    let replaced = has_changed(container, last) && view.memory.stopping.contains_key(&last.id);
    let anew = view.memory.begins_anew.contains(&last.id);
    replaced || anew || restarts(want, container, exit.code)
}

/// The instance was made from another image or name. Without a hash nothing is known about that.
pub(crate) fn has_changed(container: &ContainerWant, instance: &ContainerHave) -> bool {
    !instance.hash.is_empty() && instance.hash != container.hash
}

/// The crash back-off that an ended instance has to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) delay: Duration,
    pub(crate) until: Time,
}

/// The back-off in force. The first restart after an unknown history is immediate.
pub(crate) fn backoff(view: &PodView<'_>, last: &ContainerHave, now: Time) -> Option<Waiting> {
    let backoff = view.memory.backoff.get(&last.name)?;
    let ended = view.memory.ended.get(&last.id).copied()?;
    let until = ended.plus(backoff.delay);
    let waits = !backoff.forgotten(ended) && now < until;
    waits.then_some(Waiting {
        delay: backoff.delay,
        until,
    })
}
