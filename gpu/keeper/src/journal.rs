//! What survives a restart: holdings, findings, and which GPUs there were.

use std::fs;
use std::path::Path;

use base_ledger::Loaded;
use gpu_model::{
    GpuFacts, GpuUuid, HealthBook, HealthEvent, Inventory, Occupancy, PciAddress, Time,
};
use serde::{Deserialize, Serialize};

use crate::state::State;

/// Version of [`Journal`]. A change of its shape raises it and adds the way up from the one before.
pub(crate) const VERSION: u32 = 1;

/// The record.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Journal {
    boot: String,
    gpus: Vec<KnownGpu>,
    health: HealthBook,
    occupancy: Occupancy,
}

/// Of a GPU, only what tells who it is: facts are read again, and a record of all of them would change its shape
/// with each of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct KnownGpu {
    uuid: GpuUuid,
    index: u32,
    minor: u32,
    pci: PciAddress,
    name: String,
    serial: Option<String>,
    memory: u64,
}

/// What the start found: the books, and what is wrong with the record.
pub(crate) struct Recalled {
    pub(crate) inventory: Inventory,
    pub(crate) health: HealthBook,
    pub(crate) occupancy: Occupancy,
    pub(crate) damage: Option<String>,
}

/// Reads the journal. Whatever is wrong with it, there are books afterwards.
pub(crate) fn recall(path: &Path, boot: &str, now: Time) -> Recalled {
    let nothing = |damage| Recalled {
        inventory: Inventory::default(),
        health: HealthBook::default(),
        occupancy: Occupancy::default(),
        damage,
    };
    match base_ledger::load::<Journal>(path) {
        Loaded::Missing => nothing(None),
        Loaded::Damaged(damage) => nothing(Some(damage.to_string())),
        Loaded::Found { version, .. } if version != VERSION => {
            nothing(Some(put_away(path, version)))
        }
        Loaded::Found { value, .. } => {
            let Journal {
                boot: written_in,
                gpus,
                mut health,
                occupancy,
            } = value;
            if written_in != boot {
                (health, _) = health.apply(HealthEvent::Restarted, now);
            }
            let inventory = Inventory::recalled(gpus.into_iter().map(GpuFacts::from));
            Recalled {
                inventory,
                health,
                occupancy,
                damage: None,
            }
        }
    }
}

/// A record of another version of this program is kept for it.
fn put_away(path: &Path, version: u32) -> String {
    let mut kept = path.as_os_str().to_owned();
    kept.push(format!(".version-{version}"));
    let what = match fs::rename(path, &kept) {
        Ok(()) => format!("it was set aside as {}", Path::new(&kept).display()),
        Err(error) => format!("it could not be set aside: {error}"),
    };
    format!(
        "state file {} is of version {version}, this program knows {VERSION}; {what}, and what was in it is rebuilt",
        path.display()
    )
}

/// What has to be written now: a copy, because it is written on another thread.
pub(crate) fn record(state: &State, boot: &str) -> Journal {
    let known = state.inventory.gpus().values();
    Journal {
        boot: boot.to_owned(),
        gpus: known.map(|known| KnownGpu::from(&known.facts)).collect(),
        health: state.health.clone(),
        occupancy: state.occupancy.clone(),
    }
}

impl From<&GpuFacts> for KnownGpu {
    fn from(facts: &GpuFacts) -> Self {
        Self {
            uuid: facts.uuid.clone(),
            index: facts.index,
            minor: facts.minor,
            pci: facts.pci,
            name: facts.name.clone(),
            serial: facts.serial.clone(),
            memory: facts.memory,
        }
    }
}

impl From<KnownGpu> for GpuFacts {
    fn from(known: KnownGpu) -> Self {
        let KnownGpu {
            uuid,
            index,
            minor,
            pci,
            name,
            serial,
            memory,
        } = known;
        Self {
            uuid,
            index,
            minor,
            name,
            serial,
            pci,
            numa: None,
            cpus: String::new(),
            memory,
            compute: (0, 0),
            architecture: String::new(),
            ecc: None,
            links: Vec::new(),
            mig: None,
            fabric: None,
        }
    }
}
