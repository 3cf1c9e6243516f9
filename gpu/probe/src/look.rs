//! One look at the GPUs, for a program that does not stay.

use std::collections::BTreeMap;
use std::time::Duration;

use gpu_model::{DriverState, GpuUuid, MachineFacts, ProbeReport, Reading};
use tokio::time::{Instant, timeout_at};

use crate::owner::start;
use crate::settings::ProbeSettings;

/// What one look found.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// Whether there is a driver.
    pub driver: DriverState,
    /// The GPUs; empty without a driver.
    pub machine: MachineFacts,
    /// Readings of those that answered.
    pub readings: BTreeMap<GpuUuid, Reading>,
    /// GPUs that did not, and what was wrong.
    pub troubles: BTreeMap<GpuUuid, Trouble>,
}

/// What kept a GPU from being read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// A call did not end in time or failed, in words.
    Unresponsive(String),
    /// NVML says with this return code that it is lost, needs a reset or fails in another way.
    Lost(u32),
}

/// Looks once at driver, GPUs and readings, and leaves no process behind. Gives what is known when
/// everything was asked, at the latest after `patience`.
pub async fn look(settings: ProbeSettings, patience: Duration) -> Look {
    let (probe, mut reports) = start(settings);
    let mut look = Look {
        driver: DriverState::Unknown,
        machine: MachineFacts::default(),
        readings: BTreeMap::new(),
        troubles: BTreeMap::new(),
    };
    let mut scanned = false;
    let end = Instant::now() + patience;
    while !look.is_complete(scanned) {
        let Ok(Some(report)) = timeout_at(end, reports.recv()).await else {
            break;
        };
        scanned |= matches!(report, ProbeReport::Machine(_));
        look.add(report);
    }
    probe.stop().await;
    look
}

impl Look {
    fn add(&mut self, report: ProbeReport) {
        match report {
            ProbeReport::Driver(state) => self.driver = state,
            ProbeReport::Machine(machine) => self.machine = *machine,
            ProbeReport::Reading(gpu, reading) => drop(self.readings.insert(gpu, *reading)),
            ProbeReport::Unresponsive { gpu, detail } => {
                self.troubles.insert(gpu, Trouble::Unresponsive(detail));
            }
            ProbeReport::Lost { gpu, code } => {
                self.troubles.insert(gpu, Trouble::Lost(code));
            }
            ProbeReport::Responsive(gpu) => drop(self.troubles.remove(&gpu)),
            ProbeReport::Event(_) | ProbeReport::Missed => {}
        }
    }

    /// Nothing more is to come that is worth waiting for.
    fn is_complete(&self, scanned: bool) -> bool {
        match self.driver {
            DriverState::Unknown => false,
            DriverState::Ready => {
                let asked = |gpu: &GpuUuid| {
                    self.readings.contains_key(gpu) || self.troubles.contains_key(gpu)
                };
                scanned && self.machine.gpus.iter().all(|gpu| asked(&gpu.uuid))
            }
            _ => true,
        }
    }
}
