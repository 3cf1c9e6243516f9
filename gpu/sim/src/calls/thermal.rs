//! Temperatures and fans.

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlMarginTemperature_v1_t, nvmlTemperature_v1_t};

use crate::abi::Out;
use crate::code::{Answer, Code, INVALID_ARGUMENT, NOT_SUPPORTED};
use crate::entry::entries;
use crate::view::GpuView;

/// `NVML_TEMPERATURE_GPU`, the only sensor of these calls.
const CORE: u32 = 0;

entries! {
    fn nvmlDeviceGetTemperature(call, device: nvmlDevice_t, sensor: u32, temperature: Out<u32>) {
        let gpu = call.gpu(device)?;
        check_sensor(sensor)?;
        temperature.set(u32::try_from(gpu.temperature.gpu).unwrap_or(0))
    }

    fn nvmlDeviceGetTemperatureV(call, device: nvmlDevice_t, reading: Out<nvmlTemperature_v1_t>) {
        let gpu = call.gpu(device)?;
        let version = reading.tag()?;
        if version == crate::abi::tag::<nvmlTemperature_v1_t>(1) {
            check_sensor(reading.get()?.sensorType)?;
        }
        let temperature = gpu.temperature.gpu;
        reading.set_version(1, nvmlTemperature_v1_t { version, sensorType: CORE, temperature })
    }

    /// Distance to the temperature at which the GPU slows down.
    fn nvmlDeviceGetMarginTemperature(call, device: nvmlDevice_t, margin: Out<nvmlMarginTemperature_v1_t>) {
        let gpu = call.gpu(device)?;
        let slowdown = i32::try_from(gpu.temperature.slowdown).unwrap_or(i32::MAX);
        let margin_temperature = slowdown.saturating_sub(gpu.temperature.gpu);
        let version = margin.tag()?;
        margin.set_version(1, nvmlMarginTemperature_v1_t { version, marginTemperature: margin_temperature })
    }

    fn nvmlDeviceGetTemperatureThreshold(call, device: nvmlDevice_t, threshold: u32, temperature: Out<u32>) {
        let limits = call.gpu(device)?.temperature;
        match threshold {
            0 => temperature.set(limits.shutdown),
            1 => temperature.set(limits.slowdown),
            2 => temperature.set(limits.memory_max),
            3 => temperature.set(limits.gpu_max),
            4..=7 => Err(NOT_SUPPORTED),
            _ => Err(INVALID_ARGUMENT),
        }
    }

    fn nvmlDeviceGetNumFans(call, device: nvmlDevice_t, count: Out<u32>) {
        count.set(u32::try_from(call.gpu(device)?.fans.len()).unwrap_or(u32::MAX))
    }

    fn nvmlDeviceGetFanSpeed(call, device: nvmlDevice_t, speed: Out<u32>) {
        speed.set(fan(&call.gpu(device)?, 0)?)
    }

    fn nvmlDeviceGetFanSpeed_v2(call, device: nvmlDevice_t, number: u32, speed: Out<u32>) {
        speed.set(fan(&call.gpu(device)?, number)?)
    }
}

fn check_sensor(sensor: u32) -> Answer {
    if sensor == CORE {
        Ok(())
    } else {
        Err(INVALID_ARGUMENT)
    }
}

fn fan(gpu: &GpuView, number: u32) -> Result<u32, Code> {
    if gpu.fans.is_empty() {
        return Err(NOT_SUPPORTED);
    }
    let number = usize::try_from(number).map_err(|_| INVALID_ARGUMENT)?;
    gpu.fans.get(number).copied().ok_or(INVALID_ARGUMENT)
}
