//! What an administrator changes on a GPU. All of it needs root.

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlPowerValue_v2_t};

use crate::abi::{In, tag};
use crate::code::{ARGUMENT_VERSION_MISMATCH, Answer, Code, INVALID_ARGUMENT, NOT_SUPPORTED};
use crate::entry::{Call, entries};
use crate::state::EccCounts;

/// `nvmlComputeMode_t`: default, prohibited, exclusive process. Exclusive thread (1) is no longer a mode.
const COMPUTE_MODES: &[u32] = &[0, 2, 3];

/// `NVML_POWER_SCOPE_GPU`
const POWER_OF_GPU: u32 = 0;

entries! {
    fn nvmlDeviceSetPersistenceMode(call, device: nvmlDevice_t, mode: u32) {
        let gpu = call.gpu(device)?;
        let mode = switch(mode)?;
        call.change_gpu(&gpu, |gpu| {
            gpu.persistence_mode = mode;
            Ok(())
        })
    }

    fn nvmlDeviceSetComputeMode(call, device: nvmlDevice_t, mode: u32) {
        let gpu = call.gpu(device)?;
        if !COMPUTE_MODES.contains(&mode) {
            return Err(INVALID_ARGUMENT);
        }
        call.change_gpu(&gpu, |gpu| {
            gpu.compute_mode = mode;
            Ok(())
        })
    }

    /// Takes effect with the next reset.
    fn nvmlDeviceSetEccMode(call, device: nvmlDevice_t, mode: u32) {
        let gpu = call.gpu(device)?;
        let mode = switch(mode)?;
        call.change_gpu(&gpu, |gpu| {
            gpu.ecc.current.ok_or(NOT_SUPPORTED)?;
            gpu.ecc.pending = mode;
            Ok(())
        })
    }

    fn nvmlDeviceClearEccErrorCounts(call, device: nvmlDevice_t, counter: u32) {
        let gpu = call.gpu(device)?;
        call.change_gpu(&gpu, |gpu| {
            gpu.ecc.current.ok_or(NOT_SUPPORTED)?;
            match counter {
                0 => gpu.ecc.volatile = EccCounts::default(),
                1 => gpu.ecc.aggregate = EccCounts::default(),
                _ => return Err(INVALID_ARGUMENT),
            }
            Ok(())
        })
    }

    fn nvmlDeviceSetPowerManagementLimit(call, device: nvmlDevice_t, milliwatts: u32) {
        set_power_limit(call, device, milliwatts)
    }

    fn nvmlDeviceSetPowerManagementLimit_v2(call, device: nvmlDevice_t, value: In<nvmlPowerValue_v2_t>) {
        let value = value.get()?;
        if value.version != tag::<nvmlPowerValue_v2_t>(2) {
            return Err(ARGUMENT_VERSION_MISMATCH);
        }
        if u32::from(value.powerScope) != POWER_OF_GPU {
            return Err(NOT_SUPPORTED);
        }
        set_power_limit(call, device, value.powerValueMw)
    }

    fn nvmlDeviceSetGpuLockedClocks(call, device: nvmlDevice_t, lowest: u32, highest: u32) {
        let gpu = call.gpu(device)?;
        if lowest > highest {
            return Err(INVALID_ARGUMENT);
        }
        call.change_gpu(&gpu, |gpu| {
            gpu.clocks.locked = Some((lowest, highest));
            gpu.clocks.graphics = gpu.clocks.graphics.clamp(lowest, highest);
            gpu.clocks.sm = gpu.clocks.graphics;
            Ok(())
        })
    }

    fn nvmlDeviceResetGpuLockedClocks(call, device: nvmlDevice_t) {
        let gpu = call.gpu(device)?;
        call.change_gpu(&gpu, |gpu| {
            gpu.clocks.locked = None;
            Ok(())
        })
    }
}

fn set_power_limit(call: &Call, device: nvmlDevice_t, milliwatts: u32) -> Answer {
    let gpu = call.gpu(device)?;
    if !(gpu.power.min_limit..=gpu.power.max_limit).contains(&milliwatts) {
        return Err(INVALID_ARGUMENT);
    }
    call.change_gpu(&gpu, |gpu| {
        gpu.power.limit = milliwatts;
        Ok(())
    })
}

/// `nvmlEnableState_t`
fn switch(mode: u32) -> Result<bool, Code> {
    match mode {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(INVALID_ARGUMENT),
    }
}
