//! Event sets: XIDs and other events of GPUs.

use std::time::{Duration, Instant};

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlEventData_t, nvmlEventSet_t};

use crate::abi::Out;
use crate::code::{Code, GPU_IS_LOST, INVALID_ARGUMENT, NOT_SUPPORTED, TIMEOUT};
use crate::entry::entries;
use crate::handles::Handle;
use crate::process;
use crate::state::Event;
use crate::watch::Watch;

/// `nvmlEventMigConfigChange`
pub(crate) const MIG_CONFIG_CHANGE: u64 = 0x100;

/// Event data before it had instance ids.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct EventDataV1 {
    device: nvmlDevice_t,
    kind: u64,
    data: u64,
}

entries! {
    fn nvmlEventSetCreate(_call, set: Out<nvmlEventSet_t>) {
        if set.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        set.set(process::with(|process| process.add_event_set()))
    }

    fn nvmlEventSetFree(_call, set: nvmlEventSet_t) {
        process::with(|process| process.remove_event_set(set))
    }

    fn nvmlDeviceGetSupportedEventTypes(call, device: nvmlDevice_t, kinds: Out<u64>) {
        kinds.set(call.gpu(device)?.supported_events)
    }

    fn nvmlDeviceRegisterEvents(call, device: nvmlDevice_t, kinds: u64, set: nvmlEventSet_t) {
        let gpu = call.gpu(device)?;
        if kinds & !gpu.supported_events != 0 {
            return Err(NOT_SUPPORTED);
        }
        let newest = gpu.state().events.newest;
        process::with(|process| process.register(set, gpu.minor, kinds, newest))
    }

    fn nvmlEventSetWait(_call, set: nvmlEventSet_t, data: Out<EventDataV1>, timeout: u32) {
        if data.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        let event = wait(set, timeout)?;
        data.set(EventDataV1 { device: device_of(&event), kind: event.kind, data: event.data })
    }

    fn nvmlEventSetWait_v2(_call, set: nvmlEventSet_t, data: Out<nvmlEventData_t>, timeout: u32) {
        if data.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        let event = wait(set, timeout)?;
        data.set(nvmlEventData_t {
            device: device_of(&event),
            eventType: event.kind,
            eventData: event.data,
            gpuInstanceId: event.gpu_instance,
            computeInstanceId: event.compute_instance,
        })
    }
}

/// The next event of a set. With no event at hand and a lost GPU in the set, the wait fails at once,
/// as the header says of the real one.
fn wait(set: nvmlEventSet_t, milliseconds: u32) -> Result<Event, Code> {
    let end = Instant::now() + Duration::from_millis(u64::from(milliseconds));
    let mut watch = None;
    loop {
        let (event, lost) = process::with(|process| {
            let state = process.state()?;
            let event = process.next_event(set, &state)?;
            let unreachable = |gpu| state.gpu(gpu).is_none_or(|gpu| gpu.lost || !gpu.present);
            Ok::<_, Code>((event, process.event_set(set)?.gpus().any(unreachable)))
        })?;
        if let Some(event) = event {
            return Ok(event);
        }
        let left = end.saturating_duration_since(Instant::now());
        match &watch {
            _ if lost => return Err(GPU_IS_LOST),
            _ if left.is_zero() => return Err(TIMEOUT),
            // The watch is made before the state is read once more, so that no event is missed.
            None => watch = Some(Watch::on(process::with(|process| process.store())?.dir())),
            Some(watch) => watch.wait(Some(left)),
        }
    }
}

fn device_of(event: &Event) -> nvmlDevice_t {
    process::with(|process| process.handle(Handle::Gpu(event.gpu)))
}
