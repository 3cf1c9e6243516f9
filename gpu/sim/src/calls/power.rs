//! Power and energy.

use nvml_wrapper_sys::bindings::nvmlDevice_t;

use crate::abi::Out;
use crate::entry::entries;

entries! {
    fn nvmlDeviceGetPowerUsage(call, device: nvmlDevice_t, milliwatts: Out<u32>) {
        milliwatts.set(call.gpu(device)?.power.usage)
    }

    fn nvmlDeviceGetPowerManagementLimit | nvmlDeviceGetEnforcedPowerLimit(call, device: nvmlDevice_t, milliwatts: Out<u32>) {
        milliwatts.set(call.gpu(device)?.power.limit)
    }

    fn nvmlDeviceGetPowerManagementDefaultLimit(call, device: nvmlDevice_t, milliwatts: Out<u32>) {
        milliwatts.set(call.gpu(device)?.power.default_limit)
    }

    fn nvmlDeviceGetPowerManagementLimitConstraints(call, device: nvmlDevice_t, lowest: Out<u32>, highest: Out<u32>) {
        let power = call.gpu(device)?.power;
        lowest.set(power.min_limit)?;
        highest.set(power.max_limit)
    }

    fn nvmlDeviceGetPowerManagementMode(call, device: nvmlDevice_t, mode: Out<u32>) {
        call.gpu(device)?;
        mode.set(1)
    }

    fn nvmlDeviceGetTotalEnergyConsumption(call, device: nvmlDevice_t, millijoules: Out<u64>) {
        millijoules.set(call.gpu(device)?.power.energy)
    }
}
