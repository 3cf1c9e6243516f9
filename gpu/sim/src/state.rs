//! What the simulated machine is at this moment: the one document that every process reads.
//!
//! The same names serve three purposes: keys of the state file, keys of the machine profiles, and
//! paths of `gpusim set`. Every value may be absurd (a test may want it so); code that reads a
//! state never relies on one value fitting another.

mod ecc;
mod event;
mod fault;
mod gpu;
mod link;
mod mig;
mod text;

use serde::{Deserialize, Serialize};

pub use ecc::{Ecc, EccCounts, RemapHistogram, RemappedRows, SramDetail};
pub use event::{Event, EventLog, NOT_APPLICABLE};
pub use fault::{Effect, Fault, Target};
pub use gpu::{
    Bar1, Clocks, Fabric, Gpu, Memory, Pci, Power, Process, ProcessKind, Temperature, Utilization,
};
pub use link::{Link, RemoteKind};
pub use mig::{ComputeInstance, Engines, GpuInstance, Mig, MigProfile};
pub use text::Text;

/// Number of the state file's format; a file with another number is refused as damaged.
pub const FORMAT: u32 = 1;

/// The whole simulated machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Format of this document, see [`FORMAT`].
    pub format: u32,
    /// Values that belong to no single GPU.
    pub node: Node,
    /// PCI distance of each pair of GPUs, by minor number, as `nvidia-smi topo -m` names it.
    pub topology: Vec<Vec<String>>,
    /// GPU-instance profiles that GPUs of this machine offer; empty without MIG.
    pub mig_profiles: Vec<MigProfile>,
    /// All GPUs of the machine, hot-removed ones included, in order of their minor numbers.
    pub gpus: Vec<Gpu>,
    /// Injected misbehaviour, applied in this order.
    pub faults: Vec<Fault>,
    /// Recent events.
    pub events: EventLog,
}

/// Values of the whole machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Node {
    /// Name of the profile this machine was made from.
    pub profile: String,
    /// Where the profile's values come from.
    pub source: String,
    /// Seed of the UUIDs.
    pub seed: u64,
    /// Driver version, for instance `580.95.05`.
    pub driver_version: Text,
    /// Driver branch, for instance `r580_95`.
    pub driver_branch: Text,
    /// NVML version, for instance `13.580.95.05`.
    pub nvml_version: Text,
    /// Newest CUDA version of the driver: 1000 x major + 10 x minor.
    pub cuda_version: i32,
    /// What `nvmlInit` answers: 0 ok, 9 driver not loaded, 18 version mismatch.
    pub init_code: u32,
    /// The library's own lock is held: every call of every process waits.
    pub locked: bool,
    /// Reported instead of the true number of GPUs, when set.
    pub device_count: Option<u32>,
    /// NVSwitches of the machine that are visible on PCI.
    pub nvswitches: u32,
    /// Where fake device nodes are kept; the nodes follow the state.
    pub dev_root: Option<std::path::PathBuf>,
    /// Character majors of drivers without a fixed one, free on the machine that made the nodes.
    pub majors: Majors,
}

/// Character majors of the fake device nodes. `nvidia` itself has the fixed major 195.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Majors {
    /// `/dev/nvidia-uvm*`
    pub uvm: u32,
    /// `/dev/nvidia-caps/*`
    pub caps: u32,
    /// `/dev/nvidia-nvswitch*`
    pub nvswitch: u32,
}

impl State {
    /// The GPUs that are plugged in, in NVML's index order.
    pub fn present(&self) -> impl Iterator<Item = &Gpu> {
        self.gpus.iter().filter(|gpu| gpu.present)
    }

    /// The GPU with this minor number, plugged in or not.
    pub fn gpu(&self, minor: u32) -> Option<&Gpu> {
        self.gpus.iter().find(|gpu| gpu.minor == minor)
    }

    /// As [`State::gpu`], to change it.
    pub fn gpu_mut(&mut self, minor: u32) -> Option<&mut Gpu> {
        self.gpus.iter_mut().find(|gpu| gpu.minor == minor)
    }

    /// What `nvmlDeviceGetCount` answers.
    pub fn reported_count(&self) -> u32 {
        let present = u32::try_from(self.present().count()).unwrap_or(u32::MAX);
        self.node.device_count.unwrap_or(present)
    }

    /// PCI distance between two GPUs as `nvidia-smi topo -m` names it (`PIX` .. `SYS`).
    pub fn distance(&self, from: u32, to: u32) -> Option<&str> {
        let row = self.topology.get(usize::try_from(from).ok()?)?;
        row.get(usize::try_from(to).ok()?).map(String::as_str)
    }

    /// Adds a fault; its id is new.
    pub fn add_fault(&mut self, call: &str, target: Target, effect: Effect) -> u64 {
        let newest = self.faults.iter().map(|fault| fault.id).max().unwrap_or(0);
        let id = newest.saturating_add(1);
        self.faults.push(Fault {
            id,
            call: call.to_owned(),
            target,
            effect,
        });
        id
    }

    /// Takes one use from a fault that ends after some uses; a used-up fault goes away.
    pub fn use_up(&mut self, id: u64) {
        for fault in &mut self.faults {
            if let (
                true,
                Effect::Fail {
                    times: Some(times), ..
                },
            ) = (fault.id == id, &mut fault.effect)
            {
                *times = times.saturating_sub(1);
            }
        }
        self.faults
            .retain(|fault| !matches!(fault.effect, Effect::Fail { times: Some(0), .. }));
    }
}

#[cfg(test)]
mod tests;
