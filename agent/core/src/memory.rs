//! The little about a pod that cannot be observed. Every field says how it comes back after a restart.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::fail::Fail;
use crate::have::{ContainerHave, PodHave, RunState};
use crate::ids::{ContainerId, ContainerName, SandboxId};
use crate::plan::{Action, StopWhy};
use crate::time::Time;

/// What the owner task of a pod remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodMemory {
    /// First seen by this process. After a restart: the oldest sandbox's creation time is used if
    /// earlier.
    pub seen_at: Time,
    /// Devices. After a restart: read from the keeper's journal by asking again.
    pub devices: DeviceState,
    /// Devices changed since they were last asked for, so asking again may help; the owner task sets
    /// it, `begin` clears it. After a restart: devices are asked for anyway.
    pub devices_changed: bool,
    /// Why the pod may not run on this node. After a restart: the API says that it failed.
    pub refusal: Option<Refusal>,
    /// Since when devices are waited for. After a restart: from the beginning.
    pub devices_since: Option<Time>,
    /// Directories, cgroup, volumes. After a restart: made sure of again, which is repeatable.
    pub host_prepared: bool,
    /// Contents of volumes have to be renewed then. After a restart: told by preparing again.
    pub refresh_at: Option<Time>,
    /// What the manifest refers to, or its own labels and annotations, changed since the volumes were
    /// written; the owner task sets it, `begin` clears it. After a restart: they are written anyway.
    pub references_changed: bool,
    /// Nothing of the pod is left on the host. After a restart: cleaning is repeatable.
    pub host_cleaned: bool,
    /// No log of the pod is left. After a restart: removing is repeatable.
    pub logs_removed: bool,
    /// Image made sure of for the next start of a container: the reference to use.
    /// After a restart: asked again before the next start.
    pub images: BTreeMap<ContainerName, String>,
    /// Crash back-off. After a restart: empty, so that the first restart is immediate, as the stock
    /// kubelet's is.
    pub backoff: BTreeMap<ContainerName, Backoff>,
    /// Last failure of an action and when it may be tried again. After a restart: tried at once.
    pub failures: BTreeMap<Action, Failure>,
    /// Containers whose postStart hook is over, with its failure. After a restart: every container
    /// found running counts as over, since hooks must not run twice.
    pub post_start: BTreeMap<ContainerId, Result<(), String>>,
    /// Containers found running when this process began: probes of these start from `ready`.
    pub adopted: Vec<ContainerId>,
    /// Termination messages read so far. After a restart: read again.
    pub messages: BTreeMap<ContainerId, String>,
    /// The pod is over: what the newest plan said. After a restart: decided again from what the
    /// runtime shows.
    pub end: Option<PodEnd>,
    /// Newest instance per container that the runtime no longer shows; one that vanished without a
    /// record has exit code 137. After a restart: lost, as it is for the stock kubelet.
    pub gone: BTreeMap<ContainerName, ContainerHave>,
    /// Instances that ended for a restart of all containers: they run again whatever their policy
    /// says, init containers included. After a restart: what is left of the pod is run as a new one.
    pub begins_anew: BTreeSet<ContainerId>,
    /// Containers for which a stop has begun, and the end of their grace period: it can only move
    /// closer. After a restart: the grace period begins anew.
    pub stopping: BTreeMap<ContainerId, Time>,
    /// Containers whose preStop hook is over, well or badly. After a restart: it runs again, as the
    /// stock kubelet's does.
    pub pre_stop: BTreeSet<ContainerId>,
    /// Sandboxes that were stopped, so that network and pause process are really gone and not only
    /// reported not ready. After a restart: stopped again, which is repeatable.
    pub stopped: BTreeSet<SandboxId>,
    /// Begin of the newest whole look that was merged. After a restart: the first look.
    pub whole_at: Time,
    /// When each instance was first seen, by this agent's own clock: a look that began earlier says
    /// nothing about it. After a restart: the first look.
    pub seen: BTreeMap<Instance, Time>,
    /// When each container was first seen ended, by this agent's own clock; back-off counts from
    /// here, so that a step of the wall clock does not matter. After a restart: the first look.
    pub ended: BTreeMap<ContainerId, Time>,
    /// What actions have removed, until a later whole look has confirmed it: news that come late do
    /// not bring it back. After a restart: the first look does not show it.
    pub removed: BTreeMap<Instance, Time>,
}

/// Why a pod may not run on this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// CamelCase, for instance `OutOfcpu`.
    pub reason: String,
    /// In words.
    pub message: String,
}

/// The pod is over: by its own rules nothing of it is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodEnd {
    /// `Finished`, `DeadlineExceeded` or `Refused`.
    pub why: StopWhy,
    /// When that was decided.
    pub at: Time,
}

/// Something in the runtime that belongs to the pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Instance {
    /// A sandbox.
    Sandbox(SandboxId),
    /// A container.
    Container(ContainerId),
}

/// Where the pod's devices stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DeviceState {
    /// Not asked yet, or the pod needs none.
    #[default]
    Unasked,
    /// Held for this pod.
    Held,
    /// Not to be had now; asked again when devices change.
    Waiting {
        /// Reason in CamelCase.
        reason: &'static str,
        /// In words.
        message: String,
    },
    /// This node can never serve it.
    Refused {
        /// Reason in CamelCase.
        reason: &'static str,
        /// In words.
        message: String,
    },
    /// Given back.
    Released,
}

/// Crash back-off of one container. Kubernetes: 10 s, doubling to 300 s, forgotten when the container
/// ended more than 600 s after the last step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// Delay that the next restart has to keep, counted from the last end.
    pub delay: Duration,
    /// When it was last stepped, that is the last restart attempt.
    pub stepped_at: Time,
}

/// Quiet time after which a crash back-off starts over (Kubernetes 1.37: 10 minutes).
const BACKOFF_RESET: Duration = Duration::from_secs(600);

impl Backoff {
    /// Whether a container that ended then had run long enough to begin anew.
    pub(crate) fn forgotten(&self, ended: Time) -> bool {
        ended.since(self.stepped_at) > BACKOFF_RESET
    }
}

/// A failed action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What happened.
    pub fail: Fail,
    /// When.
    pub at: Time,
    /// How often in a row.
    pub count: u32,
    /// Not before.
    pub retry_at: Time,
}

impl PodMemory {
    /// Memory of an agent that has just begun and finds `have`, which is empty for a new pod.
    ///
    /// Hooks of running containers count as over and their probes as passed: a restart of the agent
    /// must not be noticed.
    pub fn adopt(have: &PodHave, now: Time) -> Self {
        let live = || {
            have.containers
                .iter()
                .filter(|each| each.state.is_live())
                .map(|each| &each.id)
        };
        let sandboxes = have
            .sandboxes
            .iter()
            .map(|each| Instance::Sandbox(each.id.clone()));
        let containers = have
            .containers
            .iter()
            .map(|each| Instance::Container(each.id.clone()));
        let ended = have
            .containers
            .iter()
            .filter(|each| each.state == RunState::Exited);
        let oldest = have
            .sandboxes
            .iter()
            .map(|each| each.created_at)
            .min()
            .unwrap_or(now);
        Self {
            seen_at: oldest.min(now),
            post_start: live().map(|id| (id.clone(), Ok(()))).collect(),
            adopted: live().cloned().collect(),
            seen: sandboxes
                .chain(containers)
                .map(|instance| (instance, now))
                .collect(),
            ended: ended.map(|each| (each.id.clone(), now)).collect(),
            ..Self::default()
        }
    }

    /// Drops what is remembered of instances that are neither there nor the last of their name.
    pub(crate) fn prune(&mut self, have: &PodHave) {
        let sandbox = |id: &SandboxId| have.sandboxes.iter().any(|each| each.id == *id);
        let container = |id: &ContainerId| have.containers.iter().any(|each| each.id == *id);
        let gone = &self.gone;
        let last = |id: &ContainerId| gone.values().any(|each| each.id == *id);
        self.seen.retain(|instance, _| match instance {
            Instance::Sandbox(id) => sandbox(id),
            Instance::Container(id) => container(id),
        });
        self.ended.retain(|id, _| container(id) || last(id));
        self.messages.retain(|id, _| container(id) || last(id));
        self.post_start.retain(|id, _| container(id));
        self.adopted.retain(container);
        self.begins_anew.retain(last);
        self.stopping.retain(|id, _| container(id));
        self.pre_stop.retain(container);
        self.stopped.retain(sandbox);
        self.failures.retain(|action, _| {
            action.container_id().is_none_or(container) && action.sandbox_id().is_none_or(sandbox)
        });
    }
}
