//! From the runtime's messages to what `core` knows of a pod.
//!
//! A sandbox or container without the labels of a kubelet is nobody's pod and is left out.

use std::collections::BTreeMap;

use agent_core::{
    ContainerHave, ContainerId, ContainerUser, Exit, Observation, PodHave, PodName, PodUid,
    RunState, SandboxHave, SandboxId, SandboxNetwork, Time,
};
use agent_loops::ports::RuntimeEvent;
use proto::cri::{self, NamespaceMode, PodSandboxState};

use crate::labels;

/// What an event says. `None`: nothing that has to be known at once.
///
/// Deletions are left out: what ran was told to have stopped before, what the agent removes it knows,
/// and what somebody else removes is missing from the next listing. A look for each would cost more
/// calls than all the rest of a pod's end.
pub(crate) fn event(event: cri::ContainerEventResponse) -> Option<RuntimeEvent> {
    let kind = event.container_event_type();
    if kind == cri::ContainerEventType::ContainerDeletedEvent {
        return None;
    }
    let status = event.pod_sandbox_status.as_ref();
    let labels = status.map(|status| &status.labels).into_iter();
    let mut labels = labels.chain(event.containers_statuses.iter().map(|each| &each.labels));
    let Some((uid, name)) = labels.find_map(labels::owner) else {
        tracing::trace!(id = event.container_id, ?kind, "event about nobody's pod");
        return None;
    };
    let Some(status) = status else {
        return Some(RuntimeEvent::Touched(uid));
    };
    let sandbox = SandboxId::new(&status.id);
    let containers = event.containers_statuses.iter();
    let containers = containers.filter_map(|each| container_of_status(each, Some(sandbox.clone())));
    let have = PodHave {
        sandboxes: vec![sandbox_of_status(status)],
        containers: containers.collect(),
    };
    // The lists are of this sandbox alone; the pod may have another one.
    let observation = Observation {
        uid,
        name,
        at: Time(event.created_at),
        have,
        whole: false,
    };
    Some(RuntimeEvent::Observed(Box::new(observation)))
}

/// All pods of two listings begun at `at`.
pub(crate) fn listing(
    at: Time,
    sandboxes: &[cri::PodSandbox],
    containers: &[cri::Container],
) -> Vec<Observation> {
    let mut pods: BTreeMap<PodUid, (PodName, PodHave)> = BTreeMap::new();
    let mut of = |found: &BTreeMap<String, String>, add: &mut dyn FnMut(&mut PodHave)| {
        if let Some((uid, name)) = labels::owner(found) {
            add(&mut pods
                .entry(uid)
                .or_insert_with(|| (name, PodHave::default()))
                .1);
        }
    };
    for sandbox in sandboxes {
        of(&sandbox.labels, &mut |have| {
            have.sandboxes.push(sandbox_of_list(sandbox))
        });
    }
    for container in containers {
        of(&container.labels, &mut |have| {
            have.containers.extend(container_of_list(container))
        });
    }
    let whole = |(uid, (name, mut have)): (PodUid, (PodName, PodHave))| {
        newest_first(&mut have.sandboxes);
        Observation {
            uid,
            name,
            at,
            have,
            whole: true,
        }
    };
    pods.into_iter().map(whole).collect()
}

/// One pod from the status of each of its sandboxes and containers, looked at from `at` on. The
/// containers come with the sandbox that a listing gave.
pub(crate) fn detailed(
    at: Time,
    uid: &PodUid,
    sandboxes: &[cri::PodSandboxStatus],
    containers: &[(String, cri::ContainerStatus)],
) -> Observation {
    let labels = sandboxes.iter().map(|each| &each.labels);
    let mut labels = labels.chain(containers.iter().map(|(_, each)| &each.labels));
    let name = labels.find_map(labels::owner).map(|(_, name)| name);
    let of = |(sandbox, status): &(String, _)| {
        let sandbox = Some(sandbox)
            .filter(|id| !id.is_empty())
            .map(SandboxId::new);
        container_of_status(status, sandbox)
    };
    let mut have = PodHave {
        sandboxes: sandboxes.iter().map(sandbox_of_status).collect(),
        containers: containers.iter().filter_map(of).collect(),
    };
    newest_first(&mut have.sandboxes);
    // Nothing there, nothing to read the name from.
    let name = name.unwrap_or_else(|| PodName::new("", ""));
    Observation {
        uid: uid.clone(),
        name,
        at,
        have,
        whole: true,
    }
}

fn newest_first(sandboxes: &mut [SandboxHave]) {
    sandboxes.sort_by_key(|each| std::cmp::Reverse((each.attempt, each.created_at)));
}

fn sandbox_of_list(sandbox: &cri::PodSandbox) -> SandboxHave {
    SandboxHave {
        id: SandboxId::new(&sandbox.id),
        attempt: sandbox
            .metadata
            .as_ref()
            .map_or(0, |metadata| metadata.attempt),
        ready: sandbox.state() == PodSandboxState::SandboxReady,
        created_at: Time(sandbox.created_at),
        network: None,
    }
}

fn sandbox_of_status(status: &cri::PodSandboxStatus) -> SandboxHave {
    SandboxHave {
        id: SandboxId::new(&status.id),
        attempt: status
            .metadata
            .as_ref()
            .map_or(0, |metadata| metadata.attempt),
        ready: status.state() == PodSandboxState::SandboxReady,
        created_at: Time(status.created_at),
        network: network_of(status),
    }
}

/// Without a network block nothing is known, which is not the same as having no address.
fn network_of(status: &cri::PodSandboxStatus) -> Option<SandboxNetwork> {
    let network = status.network.as_ref()?;
    let options = status
        .linux
        .as_ref()
        .and_then(|linux| linux.namespaces.as_ref());
    let options = options.and_then(|namespaces| namespaces.options.as_ref());
    let host = options.is_some_and(|options| options.network() == NamespaceMode::Node);
    let ips =
        std::iter::once(&network.ip).chain(network.additional_ips.iter().map(|more| &more.ip));
    Some(SandboxNetwork {
        host,
        ips: ips.filter(|ip| !ip.is_empty()).cloned().collect(),
    })
}

fn container_of_list(container: &cri::Container) -> Option<ContainerHave> {
    let attempt = container
        .metadata
        .as_ref()
        .map_or(0, |metadata| metadata.attempt);
    Some(ContainerHave {
        id: ContainerId::new(&container.id),
        name: labels::container_name(&container.labels)?,
        sandbox: Some(SandboxId::new(&container.pod_sandbox_id)),
        attempt: labels::restarts(&container.annotations).unwrap_or(attempt),
        hash: labels::hash(&container.annotations),
        state: state(container.state()),
        created_at: Time(container.created_at),
        started_at: None,
        exit: None,
        image_id: container.image_ref.clone(),
        user: None,
        recovered: labels::recovered(&container.annotations),
    })
}

fn container_of_status(
    status: &cri::ContainerStatus,
    sandbox: Option<SandboxId>,
) -> Option<ContainerHave> {
    let attempt = status
        .metadata
        .as_ref()
        .map_or(0, |metadata| metadata.attempt);
    let state = state(status.state());
    Some(ContainerHave {
        id: ContainerId::new(&status.id),
        name: labels::container_name(&status.labels)?,
        sandbox,
        attempt: labels::restarts(&status.annotations).unwrap_or(attempt),
        hash: labels::hash(&status.annotations),
        state,
        created_at: Time(status.created_at),
        started_at: Some(status.started_at).filter(|at| *at > 0).map(Time),
        exit: (state == RunState::Exited).then(|| Exit {
            code: status.exit_code,
            reason: status.reason.clone(),
            message: status.message.clone(),
            finished_at: Time(status.finished_at),
        }),
        image_id: status.image_ref.clone(),
        user: user(status),
        recovered: labels::recovered(&status.annotations),
    })
}

fn user(status: &cri::ContainerStatus) -> Option<ContainerUser> {
    let linux = status.user.as_ref()?.linux.as_ref()?;
    Some(ContainerUser {
        uid: linux.uid,
        gid: linux.gid,
        supplemental_groups: linux.supplemental_groups.clone(),
    })
}

fn state(state: cri::ContainerState) -> RunState {
    match state {
        cri::ContainerState::ContainerCreated => RunState::Created,
        cri::ContainerState::ContainerRunning => RunState::Running,
        cri::ContainerState::ContainerExited => RunState::Exited,
        cri::ContainerState::ContainerUnknown => RunState::Unknown,
    }
}

#[cfg(test)]
mod tests;
