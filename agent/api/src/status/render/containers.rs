//! Statuses of the containers of a pod.

use agent_core::{
    ContainerState as OwnState, ContainerStatus as Own, ContainerUser as OwnUser, Terminated,
};
use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated,
    ContainerStateWaiting, ContainerStatus, ContainerUser, LinuxContainerUser, PodStatus,
    ResourceHealth, ResourceStatus, VolumeMountStatus,
};

use super::history::{Known, follow};
use super::terminal::is_refused;
use super::{Scene, api_time, final_phase, text};
use crate::manifest::common;

/// Longest termination messages of a pod, all containers together, in bytes.
const MESSAGES: usize = 12 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Init,
    Main,
    Ephemeral,
}

/// Fills the three lists. Init containers are in the order of the manifest, the others in that of
/// their names, as in the stock kubelet.
pub(super) fn fill(scene: &Scene<'_>, status: &mut PodStatus) {
    if is_refused(scene) {
        return;
    }
    let own = &scene.snapshot.status;
    let (spec, previous) = (scene.spec, scene.previous);
    let init = list(
        scene,
        Role::Init,
        &own.init,
        &previous.init_container_statuses,
        |name| find(spec.init_containers.iter().flatten(), name),
    );
    let mut main = list(
        scene,
        Role::Main,
        &own.containers,
        &previous.container_statuses,
        |name| find(spec.containers.iter(), name),
    );
    let ephemeral = &previous.ephemeral_container_statuses;
    let mut ephemeral = list(scene, Role::Ephemeral, &own.ephemeral, ephemeral, |name| {
        let mut all = spec.ephemeral_containers.iter().flatten();
        all.find(|each| each.name == name).map(common)
    });
    main.sort_by(|one, two| one.name.cmp(&two.name));
    ephemeral.sort_by(|one, two| one.name.cmp(&two.name));
    let some = |list: Vec<ContainerStatus>| (!list.is_empty()).then_some(list);
    status.init_container_statuses = some(init);
    status.container_statuses = some(main);
    status.ephemeral_container_statuses = some(ephemeral);
}

fn find<'a>(mut all: impl Iterator<Item = &'a Container>, name: &str) -> Option<Container> {
    all.find(|each| each.name == name).cloned()
}

fn list(
    scene: &Scene<'_>,
    role: Role,
    own: &[Own],
    previous: &Option<Vec<ContainerStatus>>,
    spec: impl Fn(&str) -> Option<Container>,
) -> Vec<ContainerStatus> {
    let one = |own: &Own| {
        let container = spec(own.name.as_str());
        let new = fresh(scene, role, own, container.as_ref());
        let mut previous = previous.iter().flatten();
        let Some(previous) = previous.find(|each| each.name == own.name.as_str()) else {
            return new;
        };
        let known = Known {
            spec: scene.spec,
            container: container.as_ref(),
            ephemeral: role == Role::Ephemeral,
            default_waiting: is_default(&own.state),
            deleted: scene.deleted,
            over: final_phase(scene.previous).is_some(),
        };
        follow(new, previous, known)
    };
    own.iter().map(one).collect()
}

/// It waits for its turn, and no failure keeps it from it.
fn is_default(state: &OwnState) -> bool {
    matches!(state, OwnState::Waiting { reason, .. }
        if reason.is_empty() || reason == "ContainerCreating" || reason == "PodInitializing")
}

/// The status without a history.
fn fresh(
    scene: &Scene<'_>,
    role: Role,
    own: &Own,
    container: Option<&Container>,
) -> ContainerStatus {
    let id = own.id.as_ref().map(|id| full_id(scene, id.as_str()));
    let resources = container.map(|container| container.resources.clone().unwrap_or_default());
    let resources = resources.filter(|_| id.is_some());
    let ephemeral = role == Role::Ephemeral;
    ContainerStatus {
        name: own.name.to_string(),
        image: own.image.clone(),
        image_id: own.image_id.clone(),
        container_id: id,
        state: Some(state(scene, &own.state)),
        last_state: Some(ContainerState {
            terminated: own.last.as_ref().map(|last| ended(scene, last)),
            ..ContainerState::default()
        }),
        // Nothing waits for an ephemeral container, so nothing is said of its readiness.
        ready: own.ready && !ephemeral,
        started: (!ephemeral).then_some(own.started),
        restart_count: i32::try_from(own.restart_count).unwrap_or(i32::MAX),
        allocated_resources: resources.as_ref().and_then(|all| all.requests.clone()),
        resources,
        volume_mounts: container.and_then(|container| mounts(scene, container)),
        allocated_resources_status: devices(scene, role, own),
        user: own.user.as_ref().map(user),
        stop_signal: None,
    }
}

fn user(own: &OwnUser) -> ContainerUser {
    let groups = own.supplemental_groups.clone();
    ContainerUser {
        linux: Some(LinuxContainerUser {
            uid: own.uid,
            gid: own.gid,
            supplemental_groups: Some(groups).filter(|groups| !groups.is_empty()),
        }),
    }
}

fn full_id(scene: &Scene<'_>, id: &str) -> String {
    format!("{}://{id}", scene.node.runtime)
}

fn state(scene: &Scene<'_>, own: &OwnState) -> ContainerState {
    let mut state = ContainerState::default();
    match own {
        OwnState::Waiting { reason, message } => {
            state.waiting = Some(ContainerStateWaiting {
                reason: text(reason),
                message: text(message),
            });
        }
        OwnState::Running { started_at } => {
            state.running = Some(ContainerStateRunning {
                started_at: api_time(*started_at),
            });
        }
        OwnState::Terminated(end) => state.terminated = Some(ended(scene, end)),
    }
    state
}

fn ended(scene: &Scene<'_>, end: &Terminated) -> ContainerStateTerminated {
    let own = &scene.snapshot.status;
    let containers = own.init.len() + own.containers.len() + own.ephemeral.len();
    ContainerStateTerminated {
        exit_code: end.exit_code,
        reason: text(&end.reason),
        message: text(head(&end.message, MESSAGES / containers.max(1))),
        signal: None,
        started_at: end.started_at.and_then(api_time),
        finished_at: api_time(end.finished_at),
        container_id: text(end.id.as_str()).map(|id| full_id(scene, &id)),
    }
}

/// At most so many bytes from the beginning, whole characters.
fn head(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or(text)
}

fn mounts(scene: &Scene<'_>, container: &Container) -> Option<Vec<VolumeMountStatus>> {
    let mounts = container.volume_mounts.as_ref()?;
    let one = |mount: &k8s_openapi::api::core::v1::VolumeMount| {
        let read_only = mount.read_only == Some(true);
        let possible = mount
            .mount_propagation
            .as_deref()
            .is_none_or(|how| how == "None")
            && scene.node.recursive_read_only;
        let asked = matches!(
            mount.recursive_read_only.as_deref(),
            Some("IfPossible" | "Enabled")
        );
        let recursive = if asked && possible {
            "Enabled"
        } else {
            "Disabled"
        };
        VolumeMountStatus {
            name: mount.name.clone(),
            mount_path: mount.mount_path.clone(),
            read_only: read_only.then_some(true),
            recursive_read_only: read_only.then(|| recursive.to_owned()),
            volume_status: None,
        }
    };
    let statuses: Vec<VolumeMountStatus> = mounts.iter().map(one).collect();
    (!statuses.is_empty()).then_some(statuses)
}

/// Health of the devices that a main container holds.
fn devices(scene: &Scene<'_>, role: Role, own: &Own) -> Option<Vec<ResourceStatus>> {
    let grants = scene.snapshot.grants.iter();
    let grants = grants.filter(|grant| role == Role::Main && grant.container == own.name);
    let health = |device: &agent_core::DeviceId| ResourceHealth {
        resource_id: device.to_string(),
        health: text(if scene.node.unhealthy_devices.contains(device) {
            "Unhealthy"
        } else {
            "Healthy"
        }),
        ..ResourceHealth::default()
    };
    let statuses: Vec<ResourceStatus> = grants
        .map(|grant| ResourceStatus {
            name: grant.resource.to_string(),
            resources: Some(grant.devices.iter().map(health).collect()),
        })
        .collect();
    (!statuses.is_empty()).then_some(statuses)
}
