//! One scan: the facts of all GPUs as they come in, and the machine that they make.

use std::collections::{BTreeMap, BTreeSet};

use gpu_model::{DriverFacts, GpuFacts, GpuUuid, MachineFacts, SilentGpu, sift};
use gpu_nvml::{Code, MAX_GPUS};

/// Facts of the GPUs that have answered.
#[derive(Debug)]
pub(super) struct Scan {
    driver: DriverFacts,
    /// Number of GPUs as the driver told it.
    told: u32,
    waiting: BTreeSet<u32>,
    facts: BTreeMap<u32, GpuFacts>,
    /// Why there are none, with the NVML return code if that is the reason.
    failures: BTreeMap<u32, (String, Option<u32>)>,
}

impl Scan {
    pub(super) fn new(driver: DriverFacts, told: u32) -> Self {
        Self {
            driver,
            told,
            waiting: BTreeSet::new(),
            facts: BTreeMap::new(),
            failures: BTreeMap::new(),
        }
    }

    /// Number of GPUs as the driver told it.
    pub(super) fn told(&self) -> u32 {
        self.told
    }

    /// Number of GPUs that are looked at.
    pub(super) fn count(&self) -> u32 {
        self.told.min(MAX_GPUS)
    }

    pub(super) fn wait_for(&mut self, index: u32) {
        self.waiting.insert(index);
    }

    pub(super) fn waits_for(&self, index: u32) -> bool {
        self.waiting.contains(&index)
    }

    pub(super) fn is_complete(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn found(&mut self, index: u32, facts: GpuFacts) {
        if self.waiting.remove(&index) {
            self.facts.insert(index, facts);
        }
    }

    pub(super) fn failed(&mut self, index: u32, why: String, code: Option<u32>) {
        self.waiting.remove(&index);
        self.failures.insert(index, (why, code));
    }

    /// The machine. `known` tells which GPU was last seen at an index. A GPU that cannot be what it
    /// says, such as one with another's UUID, is silent: if both were offered, two containers could be
    /// given the same one.
    pub(super) fn assemble(&mut self, known: impl Fn(u32) -> Option<GpuUuid>) -> MachineFacts {
        let (mut machine, rejected) = sift(&MachineFacts {
            driver: std::mem::take(&mut self.driver),
            gpus: std::mem::take(&mut self.facts).into_values().collect(),
            ..MachineFacts::default()
        });
        self.failures
            .extend(rejected.into_iter().map(|it| (it.index, (it.why, None))));
        let invented = self.told > MAX_GPUS;
        for (index, (fault, code)) in std::mem::take(&mut self.failures) {
            // With an absurd count, most of the indices do not exist.
            if invented && code.is_some_and(says_no_such_gpu) {
                continue;
            }
            let elsewhere = |uuid: &GpuUuid| machine.gpus.iter().any(|gpu| gpu.uuid == *uuid);
            let uuid = known(index).filter(|uuid| !elsewhere(uuid));
            machine.silent.push(SilentGpu { index, uuid, fault });
        }
        if invented {
            let told = self.told;
            let fault = format!("the driver counts {told} GPUs; only {MAX_GPUS} were looked at");
            machine.silent.push(SilentGpu {
                index: MAX_GPUS,
                uuid: None,
                fault,
            });
        }
        machine
    }
}

fn says_no_such_gpu(code: u32) -> bool {
    [Code::INVALID_ARGUMENT, Code::NOT_FOUND, Code::GPU_NOT_FOUND].contains(&Code(code))
}

#[cfg(test)]
mod tests;
