//! Why there is no grant, in words that name who and what stands in the way.

use std::collections::{BTreeMap, BTreeSet};

use gpu_model::{Device, DeviceKind, Presence, Shortage, Time};

use crate::driver::{driver_reason, driver_words};
use crate::state::{State, Unusable};

/// Why there is no grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Not now; ask again when the keeper's changes move.
    Wait {
        /// One CamelCase word.
        reason: &'static str,
        /// In words.
        message: String,
    },
    /// Never on this machine, as it is built.
    Never {
        /// One CamelCase word.
        reason: &'static str,
        /// In words.
        message: String,
    },
}

impl Refusal {
    pub(crate) fn wait(reason: &'static str, message: impl Into<String>) -> Self {
        Self::Wait {
            reason,
            message: message.into(),
        }
    }

    pub(crate) fn never(reason: &'static str, message: impl Into<String>) -> Self {
        Self::Never {
            reason,
            message: message.into(),
        }
    }

    /// The word.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Wait { reason, .. } | Self::Never { reason, .. } => reason,
        }
    }

    /// The words.
    pub fn message(&self) -> &str {
        match self {
            Self::Wait { message, .. } | Self::Never { message, .. } => message,
        }
    }
}

impl State {
    /// Why nothing at all can be granted now, if so.
    pub(crate) fn closed(&self, now: Time) -> Option<Refusal> {
        if !self.adopted {
            return Some(Refusal::wait(
                "DevicesNotAdopted",
                "what runs on this node is still being looked at; GPUs are given out after that",
            ));
        }
        if !self.has_driver() {
            return Some(Refusal::wait(
                driver_reason(&self.driver),
                driver_words(&self.driver),
            ));
        }
        if !self.inventory.is_scanned() {
            return Some(Refusal::wait(
                "DevicesNotScanned",
                "GPUs are still being looked for",
            ));
        }
        if self.first_readings(now).is_some() {
            let message = "GPUs are being read for the first time";
            return Some(Refusal::wait("DevicesNotRead", message));
        }
        None
    }

    /// Why there are too few devices of a kind.
    pub(crate) fn short(&self, shortage: &Shortage, described: &BTreeSet<String>) -> Refusal {
        let mut devices: Vec<Device> = match &shortage.kind {
            DeviceKind::Gpu => {
                let all = self.inventory.gpus().keys();
                all.map(|gpu| Device::whole(gpu.clone())).collect()
            }
            DeviceKind::Partition(profile) => self
                .inventory
                .partitions()
                .remove(profile)
                .unwrap_or_default(),
        };
        let index = |device: &Device| self.inventory.gpu(&device.gpu).map(|gpu| gpu.facts.index);
        devices.sort_by_key(index);
        let mut held: BTreeMap<&str, Vec<&Device>> = BTreeMap::new();
        let (mut free, mut unusable) = (0, Vec::new());
        for device in &devices {
            if let Some(why) = self.unfit(device, described) {
                unusable.push(format!("{} {why}", self.name(device)));
            } else if let Some(holding) = self.occupancy.holder(device) {
                held.entry(&holding.owner.name).or_default().push(device);
            } else {
                free += 1;
            }
        }
        let reachable = free + held.values().map(Vec::len).sum::<usize>();
        let reason = if shortage.needed <= reachable {
            "DevicesBusy"
        } else {
            "DevicesUnusable"
        };
        let kind = match &shortage.kind {
            DeviceKind::Gpu => "GPUs".to_owned(),
            DeviceKind::Partition(profile) => format!("MIG devices {profile}"),
        };
        let (needed, all) = (shortage.needed, devices.len());
        let mut message =
            format!("{needed} {kind} are asked for at once, {free} of {all} are free");
        for (owner, devices) in held {
            message.push_str(&format!("; {owner} holds {}", self.names(devices)));
        }
        for what in unusable {
            message.push_str(&format!("; {what}"));
        }
        Refusal::wait(reason, message)
    }

    /// Why a device could not be given out even if nobody held it.
    fn unfit(&self, device: &Device, described: &BTreeSet<String>) -> Option<String> {
        let known = self.inventory.gpu(&device.gpu)?;
        let mig = known
            .facts
            .mig
            .as_ref()
            .filter(|mig| mig.enabled || mig.pending);
        if known.presence == Presence::Present && device.partition.is_none() && mig.is_some() {
            return Some("is in MIG mode".to_owned());
        }
        match self.unusable(device, described)? {
            Unusable::NotRead => Some("is not read yet".to_owned()),
            Unusable::NotDescribed => Some("lacks a device node".to_owned()),
            Unusable::Health(health) => {
                let causes = self.health.findings(&device.gpu).iter();
                let causes = causes.filter(|finding| finding.state == health);
                let causes: Vec<_> = causes.map(|finding| finding.cause.name()).collect();
                Some(format!("is {} ({})", health.as_str(), causes.join(", ")))
            }
        }
    }
}
