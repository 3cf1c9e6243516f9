//! The ladder of start-up. Each rung takes the one before, so the wrong order does not compile, and
//! only the last one may stop strangers, give back devices of unknown pods, or clean up the host.
//!
//! ```text
//! Booted -> Recalled -> Observed -> Synced -> Live
//!   doors     devices     runtime     all       may
//!   open      held        listed      sources   remove
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;

use agent_core::{Observation, PodUid, RunState, Time};
use tokio::sync::mpsc;

use crate::pleg::RuntimeNews;
use crate::ports::{Devices, LivingDevices, SourceSnapshot};

/// Doors are open, state files have been read by their owners.
#[derive(Debug)]
pub(crate) struct Booted {
    pub(crate) devices: Arc<dyn Devices>,
}

/// It is known which pods hold devices from before.
#[derive(Debug)]
pub(crate) struct Recalled {
    devices: Arc<dyn Devices>,
    holders: BTreeSet<PodUid>,
}

/// The runtime has been listed once: pods that are wanted may be started, since it is known what of
/// them is there already.
#[derive(Debug)]
pub(crate) struct Observed {
    holders: BTreeSet<PodUid>,
}

/// Every source has reported: what nobody has named is nobody's.
#[derive(Debug)]
pub(crate) struct Synced {
    holders: BTreeSet<PodUid>,
}

/// Proof that removing is allowed.
#[derive(Debug)]
pub(crate) struct Live {
    /// Only [`Synced::live`] can make one.
    _proof: (),
}

/// The first listing.
#[derive(Debug)]
pub(crate) struct FirstLook {
    pub(crate) at: Time,
    pub(crate) pods: Vec<Observation>,
    /// What the runtime told while it was being listed.
    pub(crate) early: Vec<RuntimeNews>,
}

impl Booted {
    /// Reads who holds devices.
    pub(crate) async fn recall(self) -> Recalled {
        let holders = self.devices.holders().await;
        Recalled {
            devices: self.devices,
            holders,
        }
    }
}

impl Recalled {
    /// Waits for the first listing of the runtime, as long as that takes. `None`: the runtime watch
    /// has ended, and so does the agent. Devices of what lives are taken in, so that none of them is
    /// free even if nobody remembers its holder.
    pub(crate) async fn observe(
        self,
        news: &mut mpsc::Receiver<RuntimeNews>,
    ) -> Option<(Observed, FirstLook)> {
        let mut early = Vec::new();
        loop {
            match news.recv().await? {
                RuntimeNews::Listed { at, pods } => {
                    self.devices.adopt(living(&pods)).await;
                    let look = FirstLook { at, pods, early };
                    return Some((
                        Observed {
                            holders: self.holders,
                        },
                        look,
                    ));
                }
                other => early.push(other),
            }
        }
    }
}

impl Observed {
    /// The next rung, if every source has reported; otherwise this one again.
    pub(crate) fn sync<'a>(
        self,
        mut sources: impl Iterator<Item = Option<&'a SourceSnapshot>>,
    ) -> Result<Synced, Self> {
        if sources.all(|source| source.is_some()) {
            Ok(Synced {
                holders: self.holders,
            })
        } else {
            Err(self)
        }
    }
}

impl Synced {
    /// The top. Comes with the pods that held devices before this agent began.
    pub(crate) fn live(self) -> (Live, BTreeSet<PodUid>) {
        (Live { _proof: () }, self.holders)
    }
}

impl agent_core::Synced for Live {}

/// Containers with devices that may be using them.
fn living(pods: &[Observation]) -> Vec<LivingDevices> {
    let mut found = Vec::new();
    for pod in pods {
        let containers = pod.have.containers.iter();
        for each in containers.filter(|each| each.state != RunState::Exited) {
            if !each.recovered.devices.is_empty() {
                found.push(LivingDevices {
                    uid: pod.uid.clone(),
                    name: pod.name.clone(),
                    container: each.name.clone(),
                    devices: each.recovered.devices.clone(),
                });
            }
        }
    }
    found
}
