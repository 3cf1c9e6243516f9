//! Everything about the GPUs of this machine, rendered from the books.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gpu_model::{
    DriverFacts, DriverState, Finding, GpuFacts, GpuUuid, HealthState, Holding, Owner, Presence,
    Reading, Remedy, Time, Topology,
};

use crate::adopt::contest_words;
use crate::state::State;

/// Everything about the GPUs of this machine.
#[derive(Clone, Debug, Default)]
pub struct GpuSnapshot {
    /// Larger for each newer one.
    pub generation: u64,
    /// The driver.
    pub driver: Option<DriverState>,
    /// Its versions.
    pub versions: DriverFacts,
    /// GPUs that this machine has or had.
    pub expected: usize,
    /// What the runtime shows has been taken in.
    pub adopted: bool,
    /// The driver has been looked at since the start: either it does not work, or a scan is complete. Before that the
    /// GPUs are those that were known earlier, and none of them counts as present.
    pub looked: bool,
    /// All known GPUs by index; missing ones last.
    pub gpus: Vec<Arc<GpuView>>,
    /// How those that are present are wired.
    pub topology: Arc<Topology>,
    /// Everybody who holds a device.
    pub owners: Vec<Owner>,
    /// What is wrong beyond single GPUs.
    pub problems: Vec<Problem>,
}

/// One GPU.
#[derive(Clone, Debug)]
pub struct GpuView {
    /// As it was read last.
    pub facts: Arc<GpuFacts>,
    /// Whether it is there.
    pub presence: Presence,
    /// How it is.
    pub health: HealthState,
    /// What has to be done about it.
    pub remedy: Remedy,
    /// Why, oldest first; those of its MIG devices included.
    pub findings: Vec<Finding>,
    /// Newest reading and when it came.
    pub reading: Option<(Time, Arc<Reading>)>,
    /// Who holds it or a part of it.
    pub holders: Vec<GpuHolder>,
    /// Device nodes that a container gets with it, as the container sees them.
    pub nodes: Vec<String>,
}

/// A container that holds a GPU or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuHolder {
    /// Whose it is.
    pub owner: Owner,
    /// The container.
    pub container: String,
    /// The MIG device; `None` for the whole GPU.
    pub partition: Option<GpuUuid>,
    /// Since when the owner holds anything.
    pub since: Time,
}

/// Something that is wrong now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// File, device or part that has it.
    pub subject: String,
    /// One CamelCase word.
    pub reason: &'static str,
    /// In words, with what to do.
    pub message: String,
    /// Since when it is known.
    pub since: Time,
}

/// Renders snapshots; keeps what did not change from one to the next.
#[derive(Debug, Default)]
pub(crate) struct Renderer {
    generation: u64,
    views: BTreeMap<GpuUuid, Arc<GpuView>>,
    facts: BTreeMap<GpuUuid, Arc<GpuFacts>>,
    topology: Arc<Topology>,
    since: BTreeMap<(String, &'static str, String), Time>,
}

/// What is wrong outside the books.
pub(crate) type Wrong = (String, &'static str, String);

impl Renderer {
    /// The snapshot after `touched` GPUs changed. `nodes` tells the device nodes of a GPU.
    pub(crate) fn render(
        &mut self,
        state: &State,
        touched: &BTreeSet<GpuUuid>,
        nodes: impl Fn(&GpuUuid) -> Vec<String>,
        wrong: Vec<Wrong>,
        now: Time,
    ) -> GpuSnapshot {
        let known = state.inventory.gpus();
        self.views.retain(|uuid, _| known.contains_key(uuid));
        self.facts.retain(|uuid, _| known.contains_key(uuid));
        for (uuid, gpu) in known {
            if touched.contains(uuid) || !self.views.contains_key(uuid) {
                let facts = match self.facts.get(uuid).filter(|facts| ***facts == gpu.facts) {
                    Some(same) => Arc::clone(same),
                    None => Arc::new(gpu.facts.clone()),
                };
                self.facts.insert(uuid.clone(), Arc::clone(&facts));
                let view = view(state, facts, gpu.presence.clone(), nodes(uuid));
                self.views.insert(uuid.clone(), Arc::new(view));
            }
        }
        if *self.topology != *state.inventory.topology() {
            self.topology = Arc::new(state.inventory.topology().clone());
        }
        let mut gpus: Vec<Arc<GpuView>> = self.views.values().cloned().collect();
        gpus.sort_by_key(|gpu| (gpu.presence == Presence::Missing, gpu.facts.index));
        self.generation += 1;
        GpuSnapshot {
            generation: self.generation,
            driver: Some(state.driver.clone()),
            versions: state.inventory.driver().clone(),
            expected: state.inventory.expected(),
            adopted: state.adopted,
            looked: match state.driver {
                DriverState::Unknown => false,
                DriverState::Ready => state.inventory.is_scanned(),
                _ => true,
            },
            gpus,
            topology: Arc::clone(&self.topology),
            owners: owners(state),
            problems: self.problems([state.wrong(), wrong].concat(), now),
        }
    }

    /// Puts to each problem since when it has been there.
    fn problems(&mut self, wrong: Vec<Wrong>, now: Time) -> Vec<Problem> {
        self.since.retain(|key, _| wrong.contains(key));
        let problem = |key: Wrong| {
            let since = *self.since.entry(key.clone()).or_insert(now);
            let (subject, reason, message) = key;
            Problem {
                subject,
                reason,
                message,
                since,
            }
        };
        wrong.into_iter().map(problem).collect()
    }
}

fn view(state: &State, facts: Arc<GpuFacts>, presence: Presence, nodes: Vec<String>) -> GpuView {
    let uuid = &facts.uuid;
    GpuView {
        presence,
        health: state.health.state(uuid),
        remedy: state.health.remedy(uuid),
        findings: state.health.findings(uuid).to_vec(),
        reading: state.readings.get(uuid).cloned(),
        holders: state
            .occupancy
            .holdings()
            .iter()
            .flat_map(|h| holders(h, uuid))
            .collect(),
        nodes,
        facts,
    }
}

fn holders(holding: &Holding, gpu: &GpuUuid) -> Vec<GpuHolder> {
    let devices = holding.shares.iter().flat_map(|share| {
        share
            .devices
            .iter()
            .map(|device| (share.container.clone(), device))
    });
    let own = devices.filter(|(_, device)| device.gpu == *gpu);
    let holder = |(container, device): (String, &gpu_model::Device)| GpuHolder {
        owner: holding.owner.clone(),
        container,
        partition: device.partition.clone(),
        since: holding.since,
    };
    own.map(holder).collect()
}

fn owners(state: &State) -> Vec<Owner> {
    let mut owners: Vec<Owner> = Vec::new();
    let held = state
        .occupancy
        .holdings()
        .iter()
        .map(|holding| &holding.owner);
    for owner in held.chain(state.unresolved.iter().map(|observed| &observed.owner)) {
        if !owners.iter().any(|other| other.id == owner.id) {
            owners.push(owner.clone());
        }
    }
    owners
}

impl State {
    /// What is wrong in the books.
    fn wrong(&self) -> Vec<Wrong> {
        let mut wrong = Vec::new();
        for gpu in &self.rejected {
            let message = format!("it is left out: {}", gpu.why);
            wrong.push((format!("GPU {}", gpu.index), "GpuNotBelieved", message));
        }
        let nameless = self.inventory.expected() - self.inventory.gpus().len();
        if nameless > 0 {
            let message = format!(
                "{nameless} GPUs are counted by the driver but have never told who they are"
            );
            wrong.push(("node".to_owned(), "GpusNameless", message));
        }
        for (device, contest) in self.occupancy.contests() {
            let name = self.name(&device);
            let message = contest_words(&name, &contest);
            wrong.push((name, "DeviceContested", message));
        }
        if self.inventory.is_scanned() {
            for observed in &self.unresolved {
                let message = format!(
                    "container {} uses devices that this node does not have: {:?}",
                    observed.container, observed.devices
                );
                wrong.push((observed.owner.name.clone(), "DeviceUnknown", message));
            }
        }
        wrong
    }
}
