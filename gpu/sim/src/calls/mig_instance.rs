//! GPU instances.

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlGpuInstance_t, nvmlGpuInstanceInfo_t, nvmlGpuInstancePlacement_t,
    nvmlGpuInstanceProfileInfo_t, nvmlGpuInstanceProfileInfo_v2_t, nvmlGpuInstanceProfileInfo_v3_t,
};

use crate::abi::{In, Out, chars, tag};
use crate::code::{Answer, Code, IN_USE, INVALID_ARGUMENT, NOT_FOUND, NOT_SUPPORTED};
use crate::entry::{Call, entries};
use crate::handles::Handle;
use crate::mig::{self, Placement};
use crate::process;
use crate::state::{GpuInstance, MigProfile};
use crate::view::GpuView;

use super::mig_device::mig_of;

/// `NVML_GPU_INSTANCE_PROFILE_COUNT`
const PROFILE_COUNT: u32 = 0x12;

entries! {
    fn nvmlDeviceGetGpuInstanceProfileInfo(call, device: nvmlDevice_t, profile: u32, info: Out<nvmlGpuInstanceProfileInfo_t>) {
        let gpu = call.gpu(device)?;
        info.set(first_version(profile_by_number(&gpu, profile)?))
    }

    fn nvmlDeviceGetGpuInstanceProfileInfoV(call, device: nvmlDevice_t, profile: u32, info: Out<nvmlGpuInstanceProfileInfo_v2_t>) {
        let gpu = call.gpu(device)?;
        tagged_version(profile_by_number(&gpu, profile)?, info)
    }

    fn nvmlDeviceGetGpuInstanceProfileInfoByIdV(call, device: nvmlDevice_t, id: u32, info: Out<nvmlGpuInstanceProfileInfo_v2_t>) {
        let gpu = call.gpu(device)?;
        check_query(&gpu)?;
        tagged_version(gpu.profile(id).ok_or(NOT_SUPPORTED)?, info)
    }

    /// Without an array it tells the number; with one the caller promises room for all.
    fn nvmlDeviceGetGpuInstancePossiblePlacements | nvmlDeviceGetGpuInstancePossiblePlacements_v2(call, device: nvmlDevice_t, id: u32, placements: Out<nvmlGpuInstancePlacement_t>, count: Out<u32>) {
        let gpu = call.gpu(device)?;
        check_query(&gpu)?;
        let profile = gpu.profile(id).ok_or(NOT_SUPPORTED)?;
        let legal = mig::placements(profile).into_iter();
        let legal: Vec<_> = legal.map(|place| nvmlGpuInstancePlacement_t { start: place.start, size: place.size }).collect();
        count.set(u32::try_from(legal.len()).unwrap_or(u32::MAX))?;
        if placements.is_null() { Ok(()) } else { placements.fill(&legal) }
    }

    fn nvmlDeviceGetGpuInstanceRemainingCapacity(call, device: nvmlDevice_t, id: u32, count: Out<u32>) {
        let gpu = mig_gpu(call, device)?;
        let profile = gpu.profile(id).ok_or(NOT_SUPPORTED)?;
        count.set(mig::remaining(mig_of(&gpu)?, profile))
    }

    fn nvmlDeviceCreateGpuInstance(call, device: nvmlDevice_t, id: u32, instance: Out<nvmlGpuInstance_t>) {
        create(call, device, id, None, instance)
    }

    fn nvmlDeviceCreateGpuInstanceWithPlacement(call, device: nvmlDevice_t, id: u32, placement: In<nvmlGpuInstancePlacement_t>, instance: Out<nvmlGpuInstance_t>) {
        let placement = placement.get()?;
        create(call, device, id, Some(Placement { start: placement.start, size: placement.size }), instance)
    }

    fn nvmlGpuInstanceDestroy(call, instance: nvmlGpuInstance_t) {
        let view = call.instance(instance)?;
        let serial = view.instance.serial;
        call.change_mig(&view.gpu, |mig, _| {
            let position = mig.instances.iter().position(|instance| instance.serial == serial);
            let position = position.ok_or(INVALID_ARGUMENT)?;
            if mig.instances.get(position).is_some_and(|instance| !instance.compute.is_empty()) {
                return Err(IN_USE);
            }
            mig.instances.remove(position);
            Ok(())
        })
    }

    /// All GPU instances of a profile; the caller promises room for as many as the profile allows.
    fn nvmlDeviceGetGpuInstances(call, device: nvmlDevice_t, id: u32, instances: Out<nvmlGpuInstance_t>, count: Out<u32>) {
        let gpu = mig_gpu(call, device)?;
        gpu.profile(id).ok_or(NOT_SUPPORTED)?;
        let of_profile = mig_of(&gpu)?.instances.iter().filter(|instance| instance.profile == id);
        let handles: Vec<_> = of_profile.map(|instance| handle(&gpu, instance)).collect();
        count.set(u32::try_from(handles.len()).unwrap_or(u32::MAX))?;
        instances.fill(&handles)
    }

    fn nvmlDeviceGetGpuInstanceById(call, device: nvmlDevice_t, id: u32, instance: Out<nvmlGpuInstance_t>) {
        let gpu = mig_gpu(call, device)?;
        let found = mig_of(&gpu)?.instances.iter().find(|instance| instance.id == id);
        instance.set(handle(&gpu, found.ok_or(NOT_FOUND)?))
    }

    fn nvmlGpuInstanceGetInfo(call, instance: nvmlGpuInstance_t, info: Out<nvmlGpuInstanceInfo_t>) {
        let view = call.instance(instance)?;
        info.set(nvmlGpuInstanceInfo_t {
            device: process::with(|process| process.handle(Handle::Gpu(view.gpu.minor))),
            id: view.instance.id,
            profileId: view.instance.profile,
            placement: nvmlGpuInstancePlacement_t {
                start: view.instance.start,
                size: view.instance.size,
            },
        })
    }
}

fn create(
    call: &Call,
    device: nvmlDevice_t,
    id: u32,
    placement: Option<Placement>,
    instance: Out<nvmlGpuInstance_t>,
) -> Answer {
    let gpu = mig_gpu(call, device)?;
    if instance.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    let serial = call.change_mig(&gpu, |mig, profiles| {
        mig::create_instance(mig, profiles, id, placement)
    })?;
    let target = Handle::GpuInstance {
        gpu: gpu.minor,
        serial,
    };
    instance.set(process::with(|process| process.handle(target)))
}

fn handle(gpu: &GpuView, instance: &GpuInstance) -> nvmlGpuInstance_t {
    let target = Handle::GpuInstance {
        gpu: gpu.minor,
        serial: instance.serial,
    };
    process::with(|process| process.handle(target))
}

/// A GPU in MIG mode; without the mode there are no instances to speak of.
fn mig_gpu(call: &Call, device: nvmlDevice_t) -> Result<GpuView, Code> {
    let gpu = call.gpu(device)?;
    if gpu.in_mig_mode() {
        Ok(gpu)
    } else {
        Err(NOT_SUPPORTED)
    }
}

/// Profiles can be asked for in MIG mode, and on newer GPUs also without.
fn check_query(gpu: &GpuView) -> Answer {
    let mig = mig_of(gpu)?;
    if mig.current || mig.query_without_mode {
        Ok(())
    } else {
        Err(NOT_SUPPORTED)
    }
}

fn profile_by_number(gpu: &GpuView, number: u32) -> Result<&MigProfile, Code> {
    check_query(gpu)?;
    if number >= PROFILE_COUNT {
        return Err(INVALID_ARGUMENT);
    }
    let profiles = &gpu.state().mig_profiles;
    profiles
        .iter()
        .find(|profile| profile.profile == number)
        .ok_or(NOT_SUPPORTED)
}

fn first_version(profile: &MigProfile) -> nvmlGpuInstanceProfileInfo_t {
    nvmlGpuInstanceProfileInfo_t {
        id: profile.id,
        isP2pSupported: 0,
        sliceCount: profile.slices,
        instanceCount: profile.instances,
        multiprocessorCount: profile.multiprocessors,
        copyEngineCount: profile.engines.copy,
        decoderCount: profile.engines.decoder,
        encoderCount: profile.engines.encoder,
        jpegCount: profile.engines.jpeg,
        ofaCount: profile.engines.optical_flow,
        memorySizeMB: profile.memory_mib,
    }
}

/// The second version has a name, the third also capabilities in place of the P2P flag.
fn tagged_version(profile: &MigProfile, info: Out<nvmlGpuInstanceProfileInfo_v2_t>) -> Answer {
    let first = first_version(profile);
    let version = info.tag()?;
    let name = chars(&profile.name.bytes());
    if version == tag::<nvmlGpuInstanceProfileInfo_v3_t>(3) {
        return info.cast().set(nvmlGpuInstanceProfileInfo_v3_t {
            version,
            id: first.id,
            sliceCount: first.sliceCount,
            instanceCount: first.instanceCount,
            multiprocessorCount: first.multiprocessorCount,
            copyEngineCount: first.copyEngineCount,
            decoderCount: first.decoderCount,
            encoderCount: first.encoderCount,
            jpegCount: first.jpegCount,
            ofaCount: first.ofaCount,
            memorySizeMB: first.memorySizeMB,
            name,
            capabilities: 0,
        });
    }
    info.set_version(
        2,
        nvmlGpuInstanceProfileInfo_v2_t {
            version,
            id: first.id,
            isP2pSupported: first.isP2pSupported,
            sliceCount: first.sliceCount,
            instanceCount: first.instanceCount,
            multiprocessorCount: first.multiprocessorCount,
            copyEngineCount: first.copyEngineCount,
            decoderCount: first.decoderCount,
            encoderCount: first.encoderCount,
            jpegCount: first.jpegCount,
            ofaCount: first.ofaCount,
            memorySizeMB: first.memorySizeMB,
            name,
        },
    )
}
