//! One container's new status beside its previous one: ends and counts are never lost.

use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateTerminated, ContainerStatus, PodSpec,
};

/// Reason of a container that vanished without a trace of how it ended.
pub(super) const UNKNOWN: &str = "ContainerStatusUnknown";

/// What is known of the container beside its status.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'a> {
    pub(super) spec: &'a PodSpec,
    pub(super) container: Option<&'a Container>,
    pub(super) ephemeral: bool,
    /// It waits for nothing in particular.
    pub(super) default_waiting: bool,
    /// The pod was deleted, so what vanished was not restarted.
    pub(super) deleted: bool,
    /// The API says that the pod has ended.
    pub(super) over: bool,
}

/// The status that follows `previous`.
pub(super) fn follow(
    mut new: ContainerStatus,
    previous: &ContainerStatus,
    known: Known<'_>,
) -> ContainerStatus {
    let instance = new.container_id.is_some();
    let same = new.container_id == previous.container_id;
    if let Some(end) = terminated(&previous.state) {
        let ended = terminated(&new.state).is_some();
        // The runtime does not know it any more: the API knows better.
        let forgotten = !instance && (ended || known.default_waiting);
        let revived = !ended && (known.over || !may_restart(known, end.exit_code));
        if forgotten || revived {
            return previous.clone();
        }
    }
    new.restart_count = new.restart_count.max(previous.restart_count);
    let runs = |status: &ContainerStatus| {
        let state = status.state.as_ref();
        state.is_some_and(|state| state.running.is_some())
    };
    if terminated(&new.last_state).is_none() {
        let last = if same {
            None
        } else {
            terminated(&previous.state)
        };
        let last = last.or_else(|| terminated(&previous.last_state)).cloned();
        new.last_state = Some(ended(last));
    }
    let ended_before = !same && terminated(&previous.state).is_some();
    if ended_before && runs(&new) && previous.restart_count >= new.restart_count {
        // Its instances before were removed, and their count with them.
        new.restart_count = previous.restart_count.saturating_add(1);
    }
    let vanished = !instance && runs(previous) && known.default_waiting;
    if vanished && terminated(&new.last_state).is_none() {
        new.last_state = Some(ended(Some(ContainerStateTerminated {
            exit_code: 137,
            reason: Some(UNKNOWN.to_owned()),
            message: Some("The container could not be located when the pod was deleted.  The container used to be Running".to_owned()),
            ..ContainerStateTerminated::default()
        })));
        if !known.deleted {
            new.restart_count = new.restart_count.saturating_add(1);
        }
    }
    if same && new.user.is_none() {
        new.user.clone_from(&previous.user);
    }
    for mount in new.volume_mounts.iter_mut().flatten() {
        let mut mounts = previous.volume_mounts.iter().flatten();
        if let Some(old) = mounts.find(|old| old.mount_path == mount.mount_path) {
            mount.volume_status.clone_from(&old.volume_status);
        }
    }
    new
}

fn ended(end: Option<ContainerStateTerminated>) -> ContainerState {
    ContainerState {
        terminated: end,
        ..ContainerState::default()
    }
}

pub(super) fn terminated(state: &Option<ContainerState>) -> Option<&ContainerStateTerminated> {
    state.as_ref().and_then(|state| state.terminated.as_ref())
}

/// Whether the manifest lets a container run again that ended so.
fn may_restart(known: Known<'_>, exit_code: i32) -> bool {
    if known.ephemeral {
        return false;
    }
    let by_policy = |policy: &str| match policy {
        "Never" => false,
        "OnFailure" => exit_code != 0,
        _ => true,
    };
    let pod = by_policy(known.spec.restart_policy.as_deref().unwrap_or("Always"));
    let Some(container) = known.container else {
        return pod;
    };
    let Some(policy) = container.restart_policy.as_deref() else {
        // An init container that ended well runs again when the sandbox is a new one.
        return pod;
    };
    let rules = container.restart_policy_rules.iter().flatten();
    let matched = rules.filter_map(|rule| rule.exit_codes.as_ref()).any(|on| {
        let within = on.values.iter().flatten().any(|code| *code == exit_code);
        within == (on.operator == "In")
    });
    matched || by_policy(policy)
}
