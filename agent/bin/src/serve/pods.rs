//! Pods in terms of the wire.

use agent_core::{Action, ContainerState, ContainerStatus, Failure};
use agent_loops::PodSnapshot;
use agent_loops::ports::DeviceGrant;
use proto::gpulet::{Container, Device, Pod, Step};

/// Annotation in which the file source says where a pod came from.
const SOURCE: &str = "kubernetes.io/config.source";

/// One pod.
pub(super) fn message(pod: &PodSnapshot) -> Pod {
    let status = &pod.status;
    let sidecars = sidecars(pod);
    let init = status.init.iter().map(|container| {
        let sidecar = sidecars.iter().any(|name| *name == container.name.as_str());
        self::container(
            container,
            if sidecar { "sidecar" } else { "init" },
            &pod.grants,
        )
    });
    let main = status
        .containers
        .iter()
        .map(|each| container(each, "main", &pod.grants));
    Pod {
        namespace: pod.name.namespace.to_string(),
        name: pod.name.name.to_string(),
        uid: pod.uid.to_string(),
        phase: status.phase.to_string(),
        reason: status.reason.clone(),
        message: status.message.clone(),
        ready: status.ready,
        ips: status.ips.clone(),
        started_at: status.started_at.0,
        containers: init.chain(main).collect(),
        life: pod.life.word().to_owned(),
        steps: steps(pod),
        source: pod
            .manifest
            .as_ref()
            .and_then(|manifest| manifest.metadata.annotations.as_ref()?.get(SOURCE).cloned())
            .unwrap_or_default(),
    }
}

/// Names of the init containers that keep running.
fn sidecars(pod: &PodSnapshot) -> Vec<&str> {
    let spec = pod
        .manifest
        .as_ref()
        .and_then(|manifest| manifest.spec.as_ref());
    spec.and_then(|spec| spec.init_containers.as_ref())
        .into_iter()
        .flatten()
        .filter(|container| container.restart_policy.as_deref() == Some("Always"))
        .map(|container| container.name.as_str())
        .collect()
}

/// What is being done, then what failed last and waits to be tried again.
fn steps(pod: &PodSnapshot) -> Vec<Step> {
    let doing = pod.steps.iter().map(|step| Step {
        action: step.action.to_string(),
        why: step.why.to_string(),
    });
    let failed = pod
        .failures
        .iter()
        .map(|(action, failure)| retry(action, failure));
    doing.chain(failed).collect()
}

fn retry(action: &Action, failure: &Failure) -> Step {
    Step {
        action: format!("{action}, again later"),
        why: match failure.count {
            0 | 1 => failure.fail.to_string(),
            count => format!("{} ({count} times)", failure.fail),
        },
    }
}

fn container(status: &ContainerStatus, kind: &str, grants: &[DeviceGrant]) -> Container {
    let devices = grants.iter().filter(|grant| grant.container == status.name);
    let mut message = Container {
        name: status.name.to_string(),
        kind: kind.to_owned(),
        image: status.image.clone(),
        id: status
            .id
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        ready: status.ready,
        restart_count: status.restart_count,
        exit_code: status.last.as_ref().map(|last| last.exit_code),
        devices: devices.flat_map(granted).collect(),
        ..Container::default()
    };
    match &status.state {
        ContainerState::Waiting {
            reason,
            message: text,
        } => {
            message.state = "waiting".to_owned();
            message.reason.clone_from(reason);
            message.message.clone_from(text);
        }
        ContainerState::Running { started_at } => {
            message.state = "running".to_owned();
            message.since = started_at.0;
        }
        ContainerState::Terminated(end) => {
            message.state = "terminated".to_owned();
            message.reason.clone_from(&end.reason);
            message.message.clone_from(&end.message);
            message.exit_code = Some(end.exit_code);
            message.since = end.finished_at.0;
        }
    }
    message
}

/// Devices and CDI names of one grant; a name that is missing stays empty.
fn granted(grant: &DeviceGrant) -> Vec<Device> {
    grant
        .devices
        .iter()
        .enumerate()
        .map(|(at, id)| Device {
            resource: grant.resource.to_string(),
            id: id.to_string(),
            cdi_name: grant
                .cdi
                .get(at)
                .map(ToString::to_string)
                .unwrap_or_default(),
        })
        .collect()
}
