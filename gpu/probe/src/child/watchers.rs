//! One thread for each GPU that waits for its events.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gpu_model::GpuUuid;

use super::answer::Access;
use super::outbox::Outbox;
use super::run;
use crate::wire::{Failure, FromChild};

/// How long one wait lasts. An event ends it at once; this only bounds how long the thread of a GPU that
/// was removed stays.
const WAIT: Duration = Duration::from_secs(60);

/// GPUs whose events are relayed.
#[derive(Debug)]
pub(super) struct Watchers {
    access: Arc<Access>,
    outbox: Outbox,
    /// Set it, and the thread ends at its next event or after its wait.
    stops: BTreeMap<GpuUuid, Arc<AtomicBool>>,
}

impl Watchers {
    pub(super) fn new(access: Arc<Access>, outbox: Outbox) -> Self {
        Self {
            access,
            outbox,
            stops: BTreeMap::new(),
        }
    }

    /// Relays the events of a GPU. The parent says so once, and again after they ended.
    pub(super) fn start(&mut self, index: u32, gpu: GpuUuid) {
        self.stop(&gpu);
        let stop = Arc::new(AtomicBool::new(false));
        self.stops.insert(gpu.clone(), Arc::clone(&stop));
        let (access, outbox) = (Arc::clone(&self.access), self.outbox.clone());
        run(&format!("nvml-event-{index}"), move || {
            if let Err(failure) = relay(&access, &outbox, index, &gpu, &stop)
                && !stop.load(Ordering::Acquire)
            {
                outbox.send(FromChild::Unwatched(gpu, failure));
            }
        });
    }

    /// Stops that.
    pub(super) fn stop(&mut self, gpu: &GpuUuid) {
        if let Some(stop) = self.stops.remove(gpu) {
            stop.store(true, Ordering::Release);
        }
    }
}

fn relay(
    access: &Access,
    outbox: &Outbox,
    index: u32,
    gpu: &GpuUuid,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let mut events = access.gpu(index, gpu)?.watch()?;
    outbox.send(FromChild::Watching(gpu.clone()));
    loop {
        let event = events.next(WAIT)?;
        if stop.load(Ordering::Acquire) {
            return Ok(());
        }
        if let Some(event) = event {
            outbox.send_event(FromChild::Event(event));
        }
    }
}
