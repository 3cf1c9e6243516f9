#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use agent_core::{ContainerUser, PodUid, RunState, SandboxNetwork, Time};
use agent_loops::ports::RuntimeEvent;
use proto::cri::{self, ContainerEventType, ContainerState, NamespaceMode, PodSandboxState};

use super::{detailed, event, listing};

fn labels(uid: &str, container: &str) -> BTreeMap<String, String> {
    let pairs = [
        ("io.kubernetes.pod.uid", uid),
        ("io.kubernetes.pod.name", "web"),
        ("io.kubernetes.pod.namespace", "space"),
        ("io.kubernetes.container.name", container),
    ];
    pairs
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

fn sandbox(id: &str, attempt: u32, ips: &[&str]) -> cri::PodSandboxStatus {
    let more = ips
        .iter()
        .skip(1)
        .map(|ip| cri::PodIp {
            ip: (*ip).to_owned(),
        })
        .collect();
    let network = ips.first().map(|ip| cri::PodSandboxNetworkStatus {
        ip: (*ip).to_owned(),
        additional_ips: more,
    });
    cri::PodSandboxStatus {
        id: id.to_owned(),
        metadata: Some(cri::PodSandboxMetadata {
            attempt,
            ..Default::default()
        }),
        state: PodSandboxState::SandboxReady.into(),
        created_at: 100,
        network,
        labels: labels("u1", ""),
        ..Default::default()
    }
}

fn container(id: &str, state: ContainerState) -> cri::ContainerStatus {
    let hash = ("io.kubernetes.container.hash".to_owned(), "abc".to_owned());
    cri::ContainerStatus {
        id: id.to_owned(),
        metadata: Some(cri::ContainerMetadata {
            name: "main".into(),
            attempt: 2,
        }),
        state: state.into(),
        created_at: 200,
        image_ref: "image@sha256:1".to_owned(),
        labels: labels("u1", "main"),
        annotations: BTreeMap::from([hash]),
        ..Default::default()
    }
}

#[test]
fn an_event_carries_the_pod() {
    let exited = cri::ContainerStatus {
        started_at: 210,
        finished_at: 220,
        exit_code: 7,
        reason: "Error".to_owned(),
        user: Some(cri::ContainerUser {
            linux: Some(cri::LinuxContainerUser {
                uid: 1000,
                gid: 3000,
                supplemental_groups: vec![3000, 4000],
            }),
        }),
        ..container("c1", ContainerState::ContainerExited)
    };
    let created = container("c2", ContainerState::ContainerCreated);
    let message = cri::ContainerEventResponse {
        container_id: "c1".to_owned(),
        container_event_type: ContainerEventType::ContainerStoppedEvent.into(),
        created_at: 230,
        pod_sandbox_status: Some(sandbox("s1", 1, &["10.0.0.1", "fd00::1"])),
        containers_statuses: vec![exited, created],
    };
    let Some(RuntimeEvent::Observed(seen)) = event(message) else {
        panic!("not observed")
    };
    assert_eq!(
        (seen.uid.as_str(), seen.at, seen.whole),
        ("u1", Time(230), false)
    );
    assert_eq!(seen.name.to_string(), "space/web");
    let users: Vec<_> = seen.have.containers.iter().map(|each| &each.user).collect();
    let user = ContainerUser {
        uid: 1000,
        gid: 3000,
        supplemental_groups: vec![3000, 4000],
    };
    assert_eq!(users, [&Some(user), &None]);
    let ips = vec!["10.0.0.1".to_owned(), "fd00::1".to_owned()];
    assert_eq!(
        seen.have.sandboxes[0].network,
        Some(SandboxNetwork { host: false, ips })
    );
    let [exited, created] = &seen.have.containers[..] else {
        panic!("two containers")
    };
    assert_eq!(exited.sandbox.as_ref().unwrap().as_str(), "s1");
    assert_eq!(
        (exited.state, exited.attempt, exited.hash.as_str()),
        (RunState::Exited, 2, "abc")
    );
    let exit = exited.exit.as_ref().unwrap();
    assert_eq!(
        (exit.code, exit.reason.as_str(), exit.finished_at),
        (7, "Error", Time(220))
    );
    assert_eq!(
        (created.state, created.started_at),
        (RunState::Created, None)
    );
    assert_eq!(created.exit, None);
}

#[test]
fn events_that_do_not_show_a_pod() {
    let message = |kind: ContainerEventType, sandbox, containers| cri::ContainerEventResponse {
        container_event_type: kind.into(),
        pod_sandbox_status: sandbox,
        containers_statuses: containers,
        ..Default::default()
    };
    let stopped = ContainerEventType::ContainerStoppedEvent;
    let exited = || vec![container("c1", ContainerState::ContainerExited)];
    let Some(RuntimeEvent::Touched(uid)) = event(message(stopped, None, exited())) else {
        panic!("not touched")
    };
    assert_eq!(uid, PodUid::new("u1"));
    assert!(event(message(stopped, None, Vec::new())).is_none());
    let deleted = ContainerEventType::ContainerDeletedEvent;
    assert!(event(message(deleted, Some(sandbox("s1", 0, &[])), exited())).is_none());
}

#[test]
fn networks() {
    let with = |network, mode: NamespaceMode| {
        let options = cri::NamespaceOption {
            network: mode.into(),
            ..Default::default()
        };
        let namespaces = Some(cri::Namespace {
            options: Some(options),
        });
        let linux = Some(cri::LinuxPodSandboxStatus { namespaces });
        let status = cri::PodSandboxStatus {
            linux,
            network,
            ..sandbox("s1", 0, &[])
        };
        let seen = detailed(Time(1), &PodUid::new("u1"), &[status], &[]);
        seen.have.sandboxes[0].network.clone()
    };
    let empty = || Some(cri::PodSandboxNetworkStatus::default());
    let none = Vec::new;
    assert_eq!(with(None, NamespaceMode::Pod), None);
    assert_eq!(
        with(empty(), NamespaceMode::Pod),
        Some(SandboxNetwork {
            host: false,
            ips: none()
        })
    );
    assert_eq!(
        with(empty(), NamespaceMode::Node),
        Some(SandboxNetwork {
            host: true,
            ips: none()
        })
    );
}

#[test]
fn a_listing_is_whole_and_leaves_strangers_out() {
    let sandbox = |id: &str, attempt, labels| cri::PodSandbox {
        id: id.to_owned(),
        metadata: Some(cri::PodSandboxMetadata {
            attempt,
            ..Default::default()
        }),
        state: PodSandboxState::SandboxNotready.into(),
        labels,
        ..Default::default()
    };
    let container = |id: &str, labels| cri::Container {
        id: id.to_owned(),
        pod_sandbox_id: "s2".to_owned(),
        state: ContainerState::ContainerRunning.into(),
        labels,
        ..Default::default()
    };
    let sandboxes = [
        sandbox("s1", 0, labels("u1", "")),
        sandbox("s2", 1, labels("u1", "")),
        sandbox("s3", 0, BTreeMap::new()),
    ];
    // The second pod has lost its sandbox.
    let containers = [
        container("c1", labels("u1", "main")),
        container("c2", labels("u2", "main")),
        container("c3", BTreeMap::new()),
    ];
    let pods = listing(Time(9), &sandboxes, &containers);
    let [first, second] = &pods[..] else {
        panic!("two pods: {pods:?}")
    };
    assert!(first.whole && second.whole && first.at == Time(9));
    let ids: Vec<_> = first
        .have
        .sandboxes
        .iter()
        .map(|each| each.id.as_str())
        .collect();
    assert_eq!(ids, ["s2", "s1"]);
    assert!(!first.have.sandboxes[0].ready);
    assert_eq!(first.have.containers[0].state, RunState::Running);
    assert_eq!(
        (second.uid.as_str(), second.have.sandboxes.len()),
        ("u2", 0)
    );
}

#[test]
fn a_pod_that_is_gone_is_seen_as_empty() {
    let seen = detailed(Time(3), &PodUid::new("u9"), &[], &[]);
    assert!(seen.whole && seen.have.sandboxes.is_empty() && seen.have.containers.is_empty());
    assert_eq!(seen.uid.as_str(), "u9");
}
