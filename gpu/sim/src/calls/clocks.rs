//! Clocks, performance state and what lowers them.

use nvml_wrapper_sys::bindings::nvmlDevice_t;

use crate::abi::Out;
use crate::code::{Code, INVALID_ARGUMENT, NOT_FOUND};
use crate::entry::entries;

/// All reasons that exist: idle, application clocks, power cap, hardware slowdown, sync boost,
/// software and hardware thermal slowdown, power brake, display.
const ALL_REASONS: u64 = 0x1ff;

/// Steps between the graphics clocks that can be chosen, in MHz, and how many are listed.
const CLOCK_STEP: u32 = 15;
const CLOCKS_LISTED: u32 = 8;

entries! {
    fn nvmlDeviceGetClockInfo(call, device: nvmlDevice_t, kind: u32, megahertz: Out<u32>) {
        let clocks = call.gpu(device)?.clocks;
        megahertz.set(by_kind(kind, [clocks.graphics, clocks.sm, clocks.memory, clocks.video])?)
    }

    fn nvmlDeviceGetMaxClockInfo(call, device: nvmlDevice_t, kind: u32, megahertz: Out<u32>) {
        let clocks = call.gpu(device)?.clocks;
        let highest = [clocks.max_graphics, clocks.max_graphics, clocks.max_memory, clocks.max_video];
        megahertz.set(by_kind(kind, highest)?)
    }

    fn nvmlDeviceGetPerformanceState | nvmlDeviceGetPowerState(call, device: nvmlDevice_t, state: Out<u32>) {
        state.set(call.gpu(device)?.clocks.performance_state)
    }

    fn nvmlDeviceGetCurrentClocksEventReasons | nvmlDeviceGetCurrentClocksThrottleReasons(call, device: nvmlDevice_t, reasons: Out<u64>) {
        reasons.set(call.gpu(device)?.clocks.event_reasons)
    }

    fn nvmlDeviceGetSupportedClocksEventReasons | nvmlDeviceGetSupportedClocksThrottleReasons(call, device: nvmlDevice_t, reasons: Out<u64>) {
        call.gpu(device)?;
        reasons.set(ALL_REASONS)
    }

    fn nvmlDeviceGetSupportedMemoryClocks(call, device: nvmlDevice_t, count: Out<u32>, megahertz: Out<u32>) {
        megahertz.list(count, &[call.gpu(device)?.clocks.max_memory])
    }

    fn nvmlDeviceGetSupportedGraphicsClocks(call, device: nvmlDevice_t, memory: u32, count: Out<u32>, megahertz: Out<u32>) {
        let clocks = call.gpu(device)?.clocks;
        if memory != clocks.max_memory {
            return Err(NOT_FOUND);
        }
        let steps = (0..CLOCKS_LISTED).map(|step| clocks.max_graphics.saturating_sub(step * CLOCK_STEP));
        megahertz.list(count, &steps.collect::<Vec<_>>())
    }
}

/// `nvmlClockType_t`: graphics, multiprocessor, memory, video.
fn by_kind(kind: u32, values: [u32; 4]) -> Result<u32, Code> {
    let kind = usize::try_from(kind).map_err(|_| INVALID_ARGUMENT)?;
    values.get(kind).copied().ok_or(INVALID_ARGUMENT)
}
