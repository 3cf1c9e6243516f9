//! What is in the world.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use agent_core::{
    ContainerHave, ContainerId, ContainerName, Exit, ImageName, Observation, PodHave, PodName,
    PodUid, RunState, SandboxHave, SandboxId, SandboxNetwork, Time,
};

use agent_loops::ports::{DeviceGrant, References, RuntimeEvent};
use tokio::sync::mpsc;

use agent_core::Fail;

use crate::calls::{Call, Verb};
use crate::faults::{Fault, Weather};
use crate::keyring::Keys;
use crate::script::Script;

/// The whole world. Changed only through the doors and by its own timers.
#[derive(Debug, Default)]
pub struct State {
    /// What manifests refer to.
    pub references: Arc<References>,
    /// Sandboxes by identity.
    pub sandboxes: BTreeMap<SandboxId, Sandbox>,
    /// Containers by identity.
    pub containers: BTreeMap<ContainerId, Container>,
    /// Who may pull and use which image.
    pub keys: Keys,
    /// Images on the node.
    pub images: BTreeSet<ImageName>,
    /// Pods with something on the host.
    pub prepared: BTreeSet<PodUid>,
    /// Log directories, by pod.
    pub logs: BTreeSet<PodUid>,
    /// Devices there are.
    pub devices: u32,
    /// Devices held, by pod.
    pub held: BTreeMap<PodUid, Vec<DeviceGrant>>,
    /// Calls so far.
    pub calls: Vec<Call>,
    /// What must never happen, and did.
    pub violations: Vec<String>,
    /// Addresses that answer network questions badly.
    pub deaf: bool,
    /// Log files that are over the limit, by container.
    pub big_logs: BTreeSet<ContainerName>,
    /// The runtime does not answer.
    pub runtime_down: bool,
    pub(crate) scripts: BTreeMap<ContainerName, Vec<Script>>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) latency: BTreeMap<Verb, Duration>,
    pub(crate) weather: Weather,
    pub(crate) listeners: Vec<mpsc::Sender<Result<RuntimeEvent, Fail>>>,
    /// What a call brings about outside the agent, to happen right after it.
    pub(crate) aftermath: Vec<Aftermath>,
    pub(crate) events_made: u32,
    pub(crate) next_id: u32,
    /// Number of the agent's life: calls of earlier ones take no effect any more.
    pub(crate) life: u32,
    /// Moments before and after changing calls, counted.
    pub(crate) moments: u32,
    pub(crate) crash_at: Option<u32>,
}

/// Something that the world does by itself, also when the agent that called is dead.
#[derive(Clone, Debug)]
pub(crate) enum Aftermath {
    /// An event shows this sandbox.
    Event(PodUid, SandboxId),
    /// An event tells of a removal.
    Removal(PodUid),
    /// A container ends.
    Exit(ContainerId, Duration, i32),
}

/// A sandbox.
#[derive(Clone, Debug)]
pub struct Sandbox {
    /// Whose.
    pub uid: PodUid,
    /// Name of the pod.
    pub name: PodName,
    /// Attempt number.
    pub attempt: u32,
    /// Up.
    pub ready: bool,
    /// When it was made.
    pub created_at: Time,
    /// Host network.
    pub host: bool,
    /// Address.
    pub ip: String,
}

/// A container.
#[derive(Clone, Debug)]
pub struct Container {
    /// Whose.
    pub uid: PodUid,
    /// Name in the pod.
    pub name: ContainerName,
    /// Restart count.
    pub attempt: u32,
    /// Where it lives.
    pub sandbox: SandboxId,
    /// Hash it was made with.
    pub hash: String,
    /// State.
    pub state: RunState,
    /// When it was made.
    pub created_at: Time,
    /// When it was started.
    pub started_at: Option<Time>,
    /// How it ended.
    pub exit: Option<Exit>,
    /// What it does.
    pub script: Script,
    /// Was asked to end.
    pub(crate) terminating: bool,
}

impl State {
    pub(crate) fn fresh_id(&mut self, kind: &str) -> String {
        self.next_id += 1;
        format!("{kind}-{}", self.next_id)
    }

    /// Containers of a pod that run.
    pub fn running(&self, uid: &PodUid) -> impl Iterator<Item = &Container> {
        let of_pod = self
            .containers
            .values()
            .filter(move |each| each.uid == *uid);
        of_pod.filter(|each| each.state == RunState::Running)
    }

    /// Newest instance of a container.
    pub fn newest(&self, uid: &PodUid, name: &str) -> Option<&Container> {
        let all = self.containers.values();
        let named = all.filter(|each| each.uid == *uid && each.name.as_str() == name);
        named.max_by_key(|each| each.attempt)
    }

    /// How often a call was made.
    pub fn count(&self, verb: Verb) -> usize {
        self.calls.iter().filter(|call| call.verb == verb).count()
    }

    pub(crate) fn script(&self, name: &ContainerName, attempt: u32) -> Script {
        let scripts = self
            .scripts
            .get(name)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let index = usize::try_from(attempt).unwrap_or(usize::MAX);
        scripts
            .get(index)
            .or(scripts.last())
            .cloned()
            .unwrap_or_else(Script::forever)
    }

    pub(crate) fn pod_name(&self, uid: &PodUid) -> PodName {
        let sandbox = self.sandboxes.values().find(|sandbox| sandbox.uid == *uid);
        sandbox.map_or_else(|| PodName::new("", ""), |sandbox| sandbox.name.clone())
    }

    /// What must hold at every moment: of a pod's name at most one sandbox is up, and of each of its
    /// containers at most one instance runs.
    pub(crate) fn check(&mut self, now: Time) {
        let mut counts: BTreeMap<(&PodName, Option<&ContainerName>), u32> = BTreeMap::new();
        for sandbox in self.sandboxes.values().filter(|each| each.ready) {
            *counts.entry((&sandbox.name, None)).or_default() += 1;
        }
        for container in self
            .containers
            .values()
            .filter(|each| each.state == RunState::Running)
        {
            if let Some(sandbox) = self.sandboxes.get(&container.sandbox) {
                *counts
                    .entry((&sandbox.name, Some(&container.name)))
                    .or_default() += 1;
            }
        }
        let doubled = counts.into_iter().filter(|(_, count)| *count > 1);
        let told =
            doubled.map(|((pod, what), count)| format!("{now:?}: {count} of {what:?} in {pod}"));
        self.violations.extend(told.collect::<Vec<_>>());
    }

    /// A pod as the runtime shows it. Listings lack details; events show one sandbox.
    pub(crate) fn look(
        &self,
        uid: &PodUid,
        at: Time,
        details: bool,
        only: Option<&SandboxId>,
    ) -> Observation {
        let shown = |id: &SandboxId| only.is_none_or(|only| only == id);
        let sandboxes = self
            .sandboxes
            .iter()
            .filter(|(id, each)| each.uid == *uid && shown(id));
        let mut sandboxes: Vec<_> = sandboxes.map(|(id, each)| each.have(id, details)).collect();
        sandboxes.sort_by_key(|sandbox| std::cmp::Reverse(sandbox.attempt));
        let containers = self.containers.iter();
        let containers = containers.filter(|(_, each)| each.uid == *uid && shown(&each.sandbox));
        let containers = containers
            .map(|(id, each)| each.have(id, details))
            .collect();
        Observation {
            uid: uid.clone(),
            name: self.pod_name(uid),
            at,
            have: PodHave {
                sandboxes,
                containers,
            },
            whole: only.is_none(),
        }
    }
}

impl Sandbox {
    fn have(&self, id: &SandboxId, details: bool) -> SandboxHave {
        let ips = if self.host {
            Vec::new()
        } else {
            vec![self.ip.clone()]
        };
        SandboxHave {
            id: id.clone(),
            attempt: self.attempt,
            ready: self.ready,
            created_at: self.created_at,
            network: details.then_some(SandboxNetwork {
                host: self.host,
                ips,
            }),
        }
    }
}

impl Container {
    fn have(&self, id: &ContainerId, details: bool) -> ContainerHave {
        ContainerHave {
            id: id.clone(),
            name: self.name.clone(),
            sandbox: Some(self.sandbox.clone()),
            attempt: self.attempt,
            hash: self.hash.clone(),
            state: self.state,
            created_at: self.created_at,
            started_at: self.started_at.filter(|_| details),
            exit: self.exit.clone().filter(|_| details),
            image_id: String::new(),
            user: None,
            recovered: agent_core::Recovered::default(),
        }
    }
}
