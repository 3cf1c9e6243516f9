//! MIG mode, and MIG devices as device handles.

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlDeviceAttributes_t};

use crate::abi::Out;
use crate::code::{Code, IN_USE, INVALID_ARGUMENT, NOT_FOUND, NOT_SUPPORTED, RESET_REQUIRED};
use crate::entry::entries;
use crate::handles::Handle;
use crate::mig;
use crate::process;
use crate::state::Mig;
use crate::view::{ComputeView, DeviceView, GpuView};

entries! {
    fn nvmlDeviceGetMigMode(call, device: nvmlDevice_t, current: Out<u32>, pending: Out<u32>) {
        let gpu = call.gpu(device)?;
        let mode = mig_of(&gpu)?;
        current.set(u32::from(mode.current))?;
        pending.set(u32::from(mode.pending))
    }

    /// Takes effect at once where no reset is needed and nobody uses the GPU; else it waits for the
    /// next reset, and the activation status says why.
    fn nvmlDeviceSetMigMode(call, device: nvmlDevice_t, mode: u32, activation: Out<u32>) {
        let gpu = call.gpu(device)?;
        mig_of(&gpu)?;
        let (true, false) = (mode <= 1, activation.is_null()) else {
            return Err(INVALID_ARGUMENT);
        };
        let wanted = mode == 1;
        let busy = !gpu.processes.is_empty();
        let status = call.change_mig(&gpu, |mig, _| {
            mig.pending = wanted;
            Ok(match (mig.current == wanted, mig.resetless, busy) {
                (true, _, _) => 0,
                (false, _, true) => IN_USE.0,
                (false, false, false) => RESET_REQUIRED.0,
                (false, true, false) => {
                    mig.current = wanted;
                    mig.instances.clear();
                    0
                }
            })
        })?;
        activation.set(status)
    }

    fn nvmlDeviceGetMaxMigDeviceCount(call, device: nvmlDevice_t, count: Out<u32>) {
        let gpu = call.gpu(device)?;
        count.set(mig::most_devices(&gpu, &gpu.state().mig_profiles))
    }

    fn nvmlDeviceGetMigDeviceHandleByIndex(call, device: nvmlDevice_t, index: u32, mig_device: Out<nvmlDevice_t>) {
        let gpu = call.gpu(device)?;
        let instances = &mig_of(&gpu)?.instances;
        let mut devices = instances.iter().flat_map(|instance| &instance.compute);
        let serial = devices.find(|compute| compute.index == index).ok_or(NOT_FOUND)?.serial;
        let target = Handle::MigDevice { gpu: gpu.minor, serial };
        mig_device.set(process::with(|process| process.handle(target)))
    }

    fn nvmlDeviceIsMigDeviceHandle(call, device: nvmlDevice_t, is_mig: Out<u32>) {
        is_mig.set(u32::from(matches!(call.device(device)?, DeviceView::Mig(_))))
    }

    fn nvmlDeviceGetDeviceHandleFromMigDeviceHandle(call, mig_device: nvmlDevice_t, device: Out<nvmlDevice_t>) {
        let gpu = mig_device_of(call.device(mig_device)?)?.parent.gpu;
        device.set(process::with(|process| process.handle(Handle::Gpu(gpu.minor))))
    }

    fn nvmlDeviceGetGpuInstanceId(call, device: nvmlDevice_t, id: Out<u32>) {
        id.set(mig_device_of(call.device(device)?)?.parent.instance.id)
    }

    fn nvmlDeviceGetComputeInstanceId(call, device: nvmlDevice_t, id: Out<u32>) {
        id.set(mig_device_of(call.device(device)?)?.compute.id)
    }

    fn nvmlDeviceGetAttributes | nvmlDeviceGetAttributes_v2(call, device: nvmlDevice_t, attributes: Out<nvmlDeviceAttributes_t>) {
        let device = mig_device_of(call.device(device)?)?;
        let profile = device.parent.profile()?;
        let profiles = &device.parent.gpu.state().mig_profiles;
        attributes.set(nvmlDeviceAttributes_t {
            multiprocessorCount: mig::compute_multiprocessors(profiles, profile, device.compute.size),
            sharedCopyEngineCount: profile.engines.copy,
            sharedDecoderCount: profile.engines.decoder,
            sharedEncoderCount: profile.engines.encoder,
            sharedJpegCount: profile.engines.jpeg,
            sharedOfaCount: profile.engines.optical_flow,
            gpuInstanceSliceCount: profile.slices,
            computeInstanceSliceCount: device.compute.size,
            memorySizeMB: profile.memory_mib,
        })
    }
}

/// MIG of a GPU that can.
pub(super) fn mig_of(gpu: &GpuView) -> Result<&Mig, Code> {
    gpu.mig.as_ref().ok_or(NOT_SUPPORTED)
}

fn mig_device_of(device: DeviceView) -> Result<ComputeView, Code> {
    match device {
        DeviceView::Mig(mig) => Ok(mig),
        DeviceView::Gpu(_) => Err(INVALID_ARGUMENT),
    }
}
