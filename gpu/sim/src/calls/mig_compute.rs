//! Compute instances.

use nvml_wrapper_sys::bindings::{
    nvmlComputeInstance_t, nvmlComputeInstanceInfo_t, nvmlComputeInstancePlacement_t,
    nvmlComputeInstanceProfileInfo_t, nvmlComputeInstanceProfileInfo_v2_t,
    nvmlComputeInstanceProfileInfo_v3_t, nvmlDevice_t, nvmlGpuInstance_t,
};

use crate::abi::{In, Out, chars, tag};
use crate::code::{Answer, Code, IN_USE, INVALID_ARGUMENT, NOT_FOUND, NOT_SUPPORTED};
use crate::entry::{Call, entries};
use crate::handles::Handle;
use crate::mig::{self, Placement};
use crate::process;
use crate::state::ComputeInstance;
use crate::view::{ComputeView, InstanceView};

/// The only engine profile: engines are shared by all compute instances of a GPU instance.
const ENGINES_SHARED: u32 = 0;

/// Compute instance info before it had a placement.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct ComputeInstanceInfoV1 {
    device: nvmlDevice_t,
    gpu_instance: nvmlGpuInstance_t,
    id: u32,
    profile: u32,
}

entries! {
    fn nvmlGpuInstanceGetComputeInstanceProfileInfo(call, instance: nvmlGpuInstance_t, profile: u32, engines: u32, info: Out<nvmlComputeInstanceProfileInfo_t>) {
        let view = call.instance(instance)?;
        info.set(first_version(&view, profile, engines)?)
    }

    fn nvmlGpuInstanceGetComputeInstanceProfileInfoV(call, instance: nvmlGpuInstance_t, profile: u32, engines: u32, info: Out<nvmlComputeInstanceProfileInfo_v2_t>) {
        let view = call.instance(instance)?;
        tagged_version(&view, first_version(&view, profile, engines)?, info)
    }

    fn nvmlGpuInstanceGetComputeInstanceRemainingCapacity(call, instance: nvmlGpuInstance_t, profile: u32, count: Out<u32>) {
        let view = call.instance(instance)?;
        let remaining = mig::compute_remaining(&view.instance, view.profile()?, profile);
        count.set(remaining.ok_or(NOT_SUPPORTED)?)
    }

    /// Without an array it tells the number; with one the caller promises room for all.
    fn nvmlGpuInstanceGetComputeInstancePossiblePlacements(call, instance: nvmlGpuInstance_t, profile: u32, placements: Out<nvmlComputeInstancePlacement_t>, count: Out<u32>) {
        let view = call.instance(instance)?;
        let legal = mig::compute_placements(view.profile()?, profile).ok_or(NOT_SUPPORTED)?;
        let legal = legal.into_iter().map(|place| nvmlComputeInstancePlacement_t { start: place.start, size: place.size });
        let legal: Vec<_> = legal.collect();
        count.set(u32::try_from(legal.len()).unwrap_or(u32::MAX))?;
        if placements.is_null() { Ok(()) } else { placements.fill(&legal) }
    }

    fn nvmlGpuInstanceCreateComputeInstance(call, instance: nvmlGpuInstance_t, profile: u32, compute: Out<nvmlComputeInstance_t>) {
        create(call, instance, profile, None, compute)
    }

    fn nvmlGpuInstanceCreateComputeInstanceWithPlacement(call, instance: nvmlGpuInstance_t, profile: u32, placement: In<nvmlComputeInstancePlacement_t>, compute: Out<nvmlComputeInstance_t>) {
        let placement = placement.get()?;
        create(call, instance, profile, Some(Placement { start: placement.start, size: placement.size }), compute)
    }

    fn nvmlComputeInstanceDestroy(call, compute: nvmlComputeInstance_t) {
        let view = call.compute(compute)?;
        let (gpu, instance) = (&view.parent.gpu, &view.parent.instance);
        let inside = |process: &crate::state::Process| {
            process.gpu_instance == Some(instance.id) && process.compute_instance == Some(view.compute.id)
        };
        if gpu.processes.iter().any(inside) {
            return Err(IN_USE);
        }
        call.change_mig(gpu, |mig, _| {
            for instance in &mut mig.instances {
                instance.compute.retain(|other| other.serial != view.compute.serial);
            }
            Ok(())
        })
    }

    /// All compute instances of a profile; the caller promises room for as many as it allows.
    fn nvmlGpuInstanceGetComputeInstances(call, instance: nvmlGpuInstance_t, profile: u32, computes: Out<nvmlComputeInstance_t>, count: Out<u32>) {
        let view = call.instance(instance)?;
        mig::compute_placements(view.profile()?, profile).ok_or(NOT_SUPPORTED)?;
        let of_profile = view.instance.compute.iter().filter(|compute| compute.profile == profile);
        let handles: Vec<_> = of_profile.map(|compute| handle(&view, compute)).collect();
        count.set(u32::try_from(handles.len()).unwrap_or(u32::MAX))?;
        computes.fill(&handles)
    }

    fn nvmlGpuInstanceGetComputeInstanceById(call, instance: nvmlGpuInstance_t, id: u32, compute: Out<nvmlComputeInstance_t>) {
        let view = call.instance(instance)?;
        let found = view.instance.compute.iter().find(|compute| compute.id == id);
        compute.set(handle(&view, found.ok_or(NOT_FOUND)?))
    }

    fn nvmlComputeInstanceGetInfo(call, compute: nvmlComputeInstance_t, info: Out<ComputeInstanceInfoV1>) {
        let full = info_of(&call.compute(compute)?);
        info.set(ComputeInstanceInfoV1 {
            device: full.device,
            gpu_instance: full.gpuInstance,
            id: full.id,
            profile: full.profileId,
        })
    }

    fn nvmlComputeInstanceGetInfo_v2(call, compute: nvmlComputeInstance_t, info: Out<nvmlComputeInstanceInfo_t>) {
        info.set(info_of(&call.compute(compute)?))
    }
}

fn create(
    call: &Call,
    instance: nvmlGpuInstance_t,
    profile: u32,
    placement: Option<Placement>,
    compute: Out<nvmlComputeInstance_t>,
) -> Answer {
    let view = call.instance(instance)?;
    if compute.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    let gpu_uuid = view.gpu.uuid.as_written();
    let serial = call.change_mig(&view.gpu, |mig, profiles| {
        mig::create_compute(
            mig,
            profiles,
            gpu_uuid,
            view.instance.serial,
            profile,
            placement,
        )
    })?;
    let target = Handle::ComputeInstance {
        gpu: view.gpu.minor,
        serial,
    };
    compute.set(process::with(|process| process.handle(target)))
}

fn handle(view: &InstanceView, compute: &ComputeInstance) -> nvmlComputeInstance_t {
    let target = Handle::ComputeInstance {
        gpu: view.gpu.minor,
        serial: compute.serial,
    };
    process::with(|process| process.handle(target))
}

fn info_of(view: &ComputeView) -> nvmlComputeInstanceInfo_t {
    let (gpu, instance) = (view.parent.gpu.minor, view.parent.instance.serial);
    process::with(|process| nvmlComputeInstanceInfo_t {
        device: process.handle(Handle::Gpu(gpu)),
        gpuInstance: process.handle(Handle::GpuInstance {
            gpu,
            serial: instance,
        }),
        id: view.compute.id,
        profileId: view.compute.profile,
        placement: nvmlComputeInstancePlacement_t {
            start: view.compute.start,
            size: view.compute.size,
        },
    })
}

fn first_version(
    view: &InstanceView,
    profile: u32,
    engines: u32,
) -> Result<nvmlComputeInstanceProfileInfo_t, Code> {
    if engines != ENGINES_SHARED {
        return Err(INVALID_ARGUMENT);
    }
    let of = view.profile()?;
    let slices = mig::compute_slices(profile).ok_or(NOT_SUPPORTED)?;
    let legal = mig::compute_placements(of, profile).ok_or(NOT_SUPPORTED)?;
    Ok(nvmlComputeInstanceProfileInfo_t {
        id: profile,
        sliceCount: slices,
        instanceCount: u32::try_from(legal.len()).unwrap_or(u32::MAX),
        multiprocessorCount: mig::compute_multiprocessors(
            &view.gpu.state().mig_profiles,
            of,
            slices,
        ),
        sharedCopyEngineCount: of.engines.copy,
        sharedDecoderCount: of.engines.decoder,
        sharedEncoderCount: of.engines.encoder,
        sharedJpegCount: of.engines.jpeg,
        sharedOfaCount: of.engines.optical_flow,
    })
}

/// The second version has a name, the third also capabilities.
fn tagged_version(
    view: &InstanceView,
    first: nvmlComputeInstanceProfileInfo_t,
    info: Out<nvmlComputeInstanceProfileInfo_v2_t>,
) -> Answer {
    let version = info.tag()?;
    let name = chars(mig::compute_name(view.profile()?, first.sliceCount).as_bytes());
    let second = nvmlComputeInstanceProfileInfo_v2_t {
        version,
        id: first.id,
        sliceCount: first.sliceCount,
        instanceCount: first.instanceCount,
        multiprocessorCount: first.multiprocessorCount,
        sharedCopyEngineCount: first.sharedCopyEngineCount,
        sharedDecoderCount: first.sharedDecoderCount,
        sharedEncoderCount: first.sharedEncoderCount,
        sharedJpegCount: first.sharedJpegCount,
        sharedOfaCount: first.sharedOfaCount,
        name,
    };
    if version == tag::<nvmlComputeInstanceProfileInfo_v3_t>(3) {
        // The third version is the second one and the capabilities after it.
        info.set(second)?;
        return info.after::<u32>().set(0);
    }
    info.set_version(2, second)
}
