//! What has to be done because a book changed.

use std::collections::BTreeSet;

use gpu_model::GpuUuid;

use crate::notice::Notice;
use crate::probe::ProbeAsk;

/// Work that the books leave to their task.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// What to ask the probe.
    pub(crate) asks: Vec<ProbeAsk>,
    /// What to tell.
    pub(crate) notices: Vec<Notice>,
    /// Whether the journal lacks something.
    pub(crate) save: Save,
    /// Facts changed that the CDI document is made from.
    pub(crate) describe: bool,
    /// GPUs whose view changed.
    pub(crate) touched: BTreeSet<GpuUuid>,
    /// Something else in the snapshot changed.
    pub(crate) publish: bool,
}

/// How urgent the journal is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Save {
    /// It has everything.
    #[default]
    No,
    /// It may wait for more of the same: a GPU that reports faults in a storm must not wear the disk.
    Soon,
    /// At once.
    Now,
}

impl Effects {
    pub(crate) fn ask(&mut self, ask: ProbeAsk) {
        if !self.asks.contains(&ask) {
            self.asks.push(ask);
        }
    }

    pub(crate) fn save(&mut self, urgency: Save) {
        self.save = self.save.max(urgency);
    }
}
