//! Memory and use of the engines.

use nvml_wrapper_sys::bindings::{
    nvmlBAR1Memory_t, nvmlDevice_t, nvmlMemory_t, nvmlMemory_v2_t, nvmlUtilization_t,
};

use crate::abi::Out;
use crate::code::{Answer, Code, NOT_SUPPORTED};
use crate::entry::{Call, entries};
use crate::state::{Memory, Utilization};
use crate::view::DeviceView;

const MIB: u64 = 1024 * 1024;

/// Sampling period that encoder and decoder use report, in microseconds.
const SAMPLING_PERIOD: u32 = 167_000;

entries! {
    /// The first version counts what is reserved as used.
    fn nvmlDeviceGetMemoryInfo(call, device: nvmlDevice_t, memory: Out<nvmlMemory_t>) {
        let Memory { total, reserved, used } = memory_of(call, device)?;
        let used = used.saturating_add(reserved);
        memory.set(nvmlMemory_t { total, free: total.saturating_sub(used), used })
    }

    fn nvmlDeviceGetMemoryInfo_v2(call, device: nvmlDevice_t, memory: Out<nvmlMemory_v2_t>) {
        let Memory { total, reserved, used } = memory_of(call, device)?;
        let free = total.saturating_sub(used).saturating_sub(reserved);
        memory.set_version(2, nvmlMemory_v2_t { version: memory.tag()?, total, reserved, free, used })
    }

    fn nvmlDeviceGetBAR1MemoryInfo(call, device: nvmlDevice_t, memory: Out<nvmlBAR1Memory_t>) {
        let bar1 = call.device(device)?.gpu().bar1;
        memory.set(nvmlBAR1Memory_t {
            bar1Total: bar1.total,
            bar1Free: bar1.total.saturating_sub(bar1.used),
            bar1Used: bar1.used,
        })
    }

    /// Not supported on MIG devices nor on a GPU in MIG mode, as documented for the real call.
    fn nvmlDeviceGetUtilizationRates(call, device: nvmlDevice_t, utilization: Out<nvmlUtilization_t>) {
        let now = utilization_of(call, device)?;
        utilization.set(nvmlUtilization_t { gpu: now.gpu, memory: now.memory })
    }

    fn nvmlDeviceGetEncoderUtilization(call, device: nvmlDevice_t, utilization: Out<u32>, period: Out<u32>) {
        engine(utilization_of(call, device)?.encoder, utilization, period)
    }

    fn nvmlDeviceGetDecoderUtilization(call, device: nvmlDevice_t, utilization: Out<u32>, period: Out<u32>) {
        engine(utilization_of(call, device)?.decoder, utilization, period)
    }
}

fn memory_of(call: &Call, device: nvmlDevice_t) -> Result<Memory, Code> {
    match call.device(device)? {
        DeviceView::Gpu(gpu) => Ok(gpu.memory),
        DeviceView::Mig(mig) => {
            let total = mig.parent.profile()?.memory_mib.saturating_mul(MIB);
            Ok(Memory {
                total,
                reserved: 0,
                used: mig.used_memory(),
            })
        }
    }
}

fn utilization_of(call: &Call, device: nvmlDevice_t) -> Result<Utilization, Code> {
    let gpu = call.gpu(device)?;
    if gpu.in_mig_mode() {
        Err(NOT_SUPPORTED)
    } else {
        Ok(gpu.utilization)
    }
}

fn engine(percent: u32, utilization: Out<u32>, period: Out<u32>) -> Answer {
    utilization.set(percent)?;
    period.set(SAMPLING_PERIOD)
}
