//! Waiting for events of one GPU.

use std::ptr;
use std::time::Duration;

use gpu_model::{GpuEvent, GpuUuid};
use nvml_wrapper_sys::bindings::{nvmlEventData_t, nvmlEventSet_t};

use crate::call::{Fault, ask};
use crate::code::Code;
use crate::gpu::Gpu;
use crate::library::Library;

/// Event types that are worth waking up for, as bits (`nvml.h`, the newer ones from driver 565 on):
/// double-bit ECC 0x2, XID 0x8, MIG change 0x100, single-bit ECC storm 0x200, DRAM retirement 0x400 and
/// its failure 0x800, poison 0x1000 and fatal poison 0x2000, GPU unavailable 0x4000, recovery action
/// 0x8000. Left out: single-bit ECC 0x1, which the counters tell; performance state 0x4, clock 0x10 and
/// power source 0x80, which come by the thousand on a busy GPU.
const KINDS: u64 = 0xff0a;

/// What NVML writes for an instance that does not apply.
const NO_INSTANCE: u32 = u32::MAX;

/// The events of one GPU. One set for each GPU, because a set is used by one thread at a time, and a
/// call that hangs or fails then says which GPU it is.
#[derive(Debug)]
pub struct EventWait<'library> {
    library: &'library Library,
    set: Set,
    gpu: GpuUuid,
}

/// The handle of an event set.
#[derive(Debug)]
struct Set(nvmlEventSet_t);

// SAFETY: the handle is a name for something inside the library, which may be used by any thread, only
// not by two at once; `EventWait` is not `Sync` (a raw pointer is inside), so it is not.
unsafe impl Send for Set {}

impl<'library> Gpu<'library> {
    /// Registers for its events. Those from before are never delivered.
    pub fn watch(&self) -> Result<EventWait<'library>, Fault> {
        let gpu = self.uuid()?;
        let mut supported = 0;
        ask!(self.library, nvmlDeviceGetSupportedEventTypes, |function| {
            // SAFETY: the handle came from the library, which is still loaded; the number is writable.
            unsafe { function(self.handle(), &raw mut supported) }
        })?;
        let mut set = ptr::null_mut();
        ask!(self.library, nvmlEventSetCreate, |function| {
            // SAFETY: the pointer is writable.
            unsafe { function(&raw mut set) }
        })?;
        // From here on dropping it frees the set.
        let wait = EventWait {
            library: self.library,
            set: Set(set),
            gpu,
        };
        ask!(self.library, nvmlDeviceRegisterEvents, |function| {
            // SAFETY: handle and set came from the library, which is still loaded, and no other thread
            // knows the set.
            unsafe { function(self.handle(), supported & KINDS, set) }
        })?;
        Ok(wait)
    }
}

impl EventWait<'_> {
    /// The next event, `None` when none came in time. A failure ends the matter: the set is of no use any
    /// more.
    pub fn next(&mut self, timeout: Duration) -> Result<Option<GpuEvent>, Fault> {
        let milliseconds = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
        let mut data = nvmlEventData_t {
            device: ptr::null_mut(),
            eventType: 0,
            eventData: 0,
            gpuInstanceId: NO_INSTANCE,
            computeInstanceId: NO_INSTANCE,
        };
        let waited = ask!(self.library, nvmlEventSetWait_v2, |function| {
            // SAFETY: the set came from the library, which is still loaded, and `&mut self` keeps other
            // threads from using it; the structure is the one of this version of the call.
            unsafe { function(self.set.0, &raw mut data, milliseconds) }
        });
        match waited {
            Ok(()) => Ok(Some(GpuEvent {
                gpu: Some(self.gpu.clone()),
                kind: data.eventType,
                data: data.eventData,
                gpu_instance: Some(data.gpuInstanceId).filter(|id| *id != NO_INSTANCE),
                compute_instance: Some(data.computeInstanceId).filter(|id| *id != NO_INSTANCE),
            })),
            Err(fault) if fault.code == Code::TIMEOUT => Ok(None),
            Err(fault) => Err(fault),
        }
    }
}

impl Drop for EventWait<'_> {
    fn drop(&mut self) {
        // A set that cannot be freed is lost memory of the library, and nothing can be done about it.
        let _ = ask!(self.library, nvmlEventSetFree, |function| {
            // SAFETY: the set came from the library, which is still loaded, and nobody uses it any more.
            unsafe { function(self.set.0) }
        });
    }
}
