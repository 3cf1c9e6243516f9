//! What decides about grants, to tell when a refusal might turn out differently.

use std::collections::BTreeSet;

use gpu_model::{Device, DriverState, Time};

use crate::documents::Documents;
use crate::state::State;

/// All that decides about grants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Openness {
    driver: Option<DriverState>,
    adopted: bool,
    scanned: bool,
    reading: bool,
    expected: usize,
    failure: Option<String>,
    saved: bool,
    free: BTreeSet<Device>,
}

impl Openness {
    pub(crate) fn of(state: &State, documents: &Documents, saved: bool, now: Time) -> Self {
        let (gpus, partitions) = state.free(&documents.names());
        let partitions = partitions.into_values().flatten();
        Self {
            driver: Some(state.driver.clone()),
            adopted: state.adopted,
            scanned: state.inventory.is_scanned(),
            reading: state.first_readings(now).is_some(),
            expected: state.inventory.expected(),
            failure: documents.failure.clone(),
            saved,
            free: gpus
                .into_iter()
                .map(Device::whole)
                .chain(partitions)
                .collect(),
        }
    }

    /// Whether anything but a loss of free devices is different.
    pub(crate) fn differs(&self, before: &Self) -> bool {
        let same_free = Self {
            free: before.free.clone(),
            ..self.clone()
        };
        same_free != *before || !self.free.is_subset(&before.free)
    }
}
