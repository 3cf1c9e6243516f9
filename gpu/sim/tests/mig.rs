//! MIG through the C interface: mode, instances, devices, refusals.

#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used)]

#[macro_use]
mod client;

use client::{Machine, is_root, value};
use nvml_wrapper_sys::bindings::{
    nvmlComputeInstance_t, nvmlComputeInstanceInfo_t, nvmlDevice_t, nvmlDeviceAttributes_t,
    nvmlGpuInstance_t, nvmlGpuInstanceInfo_t, nvmlGpuInstancePlacement_t,
    nvmlGpuInstanceProfileInfo_v2_t,
};

/// Profile ids of the H200 and A100 tables, and the compute profile of three slices.
const ONE: u32 = 19;
const THREE: u32 = 9;
const ALL_THREE: u32 = 2;

fn set_mode(machine: &Machine, device: nvmlDevice_t, mode: u32) -> (u32, u32) {
    let mut status = u32::MAX;
    (
        call!(machine, nvmlDeviceSetMigMode(device, mode, &raw mut status)),
        status,
    )
}

fn modes(machine: &Machine, device: nvmlDevice_t) -> (u32, u32) {
    let (mut current, mut pending) = (9, 9);
    let code = call!(
        machine,
        nvmlDeviceGetMigMode(device, &raw mut current, &raw mut pending)
    );
    assert_eq!(code, 0);
    (current, pending)
}

fn create(machine: &Machine, device: nvmlDevice_t, id: u32) -> Result<nvmlGpuInstance_t, u32> {
    let mut instance = std::ptr::null_mut();
    match call!(
        machine,
        nvmlDeviceCreateGpuInstance(device, id, &raw mut instance)
    ) {
        0 => Ok(instance),
        code => Err(code),
    }
}

fn create_compute(
    machine: &Machine,
    instance: nvmlGpuInstance_t,
    profile: u32,
) -> nvmlComputeInstance_t {
    let mut compute = std::ptr::null_mut();
    let code = call!(
        machine,
        nvmlGpuInstanceCreateComputeInstance(instance, profile, &raw mut compute)
    );
    assert_eq!(code, 0);
    compute
}

fn mig_device(machine: &Machine, device: nvmlDevice_t, index: u32) -> Result<nvmlDevice_t, u32> {
    let mut found = std::ptr::null_mut();
    match call!(
        machine,
        nvmlDeviceGetMigDeviceHandleByIndex(device, index, &raw mut found)
    ) {
        0 => Ok(found),
        code => Err(code),
    }
}

#[test]
fn a_mode_change_waits_for_a_reset_on_ampere_only() {
    if !is_root() {
        return;
    }
    let machine = Machine::new("a100-80x8");
    let device = machine.gpu(0);
    assert_eq!(set_mode(&machine, device, 1), (0, 16));
    assert_eq!(modes(&machine, device), (0, 1));
    assert_eq!(create(&machine, device, ONE), Err(3));
    machine.gpusim(&["reset", "0"]);
    assert_eq!(modes(&machine, device), (1, 1));
    drop(machine);

    let machine = Machine::new("h200x8");
    let device = machine.gpu(0);
    machine.gpusim(&["process", "add", "0", "--pid", "9"]);
    assert_eq!(
        set_mode(&machine, device, 1),
        (0, 19),
        "somebody uses the GPU"
    );
    machine.gpusim(&["process", "remove", "0", "9"]);
    assert_eq!(set_mode(&machine, device, 1), (0, 0));
    assert_eq!(modes(&machine, device), (1, 1));
    assert_eq!(set_mode(&machine, device, 2).0, 2);
}

#[test]
fn gpus_without_mig_do_not_support_it() {
    let machine = Machine::new("t4x1");
    let device = machine.gpu(0);
    assert_eq!(set_mode(&machine, device, 1).0, 3);
    assert_eq!(
        value(|place| call!(machine, nvmlDeviceGetMaxMigDeviceCount(device, place))),
        Ok(0_u32)
    );
    assert_eq!(mig_device(&machine, device, 0), Err(3));
}

/// A GPU in MIG mode with one whole 3g instance: parent, GPU instance, compute instance, MIG device.
fn with_instance(
    machine: &Machine,
) -> (
    nvmlDevice_t,
    nvmlGpuInstance_t,
    nvmlComputeInstance_t,
    nvmlDevice_t,
) {
    let parent = machine.gpu(1);
    assert_eq!(set_mode(machine, parent, 1), (0, 0));
    let instance = create(machine, parent, THREE).unwrap();
    assert_eq!(
        mig_device(machine, parent, 0),
        Err(6),
        "no compute instance yet"
    );
    let compute = create_compute(machine, instance, ALL_THREE);
    (
        parent,
        instance,
        compute,
        mig_device(machine, parent, 0).unwrap(),
    )
}

#[test]
fn a_mig_device_is_a_device_of_its_own() {
    if !is_root() {
        return;
    }
    let machine = Machine::new("h200x8");
    let (parent, _, _, device) = with_instance(&machine);
    assert_eq!(machine.name(device).unwrap(), "NVIDIA H200 MIG 3g.71gb");
    let uuid = machine.uuid(device).unwrap();
    assert!(uuid.starts_with("MIG-"));
    let asked = std::ffi::CString::new(uuid).unwrap();
    let mut same = std::ptr::null_mut();
    assert_eq!(
        call!(
            machine,
            nvmlDeviceGetHandleByUUID(asked.as_ptr(), &raw mut same)
        ),
        0
    );
    assert_eq!(same, device);
    let mut back = std::ptr::null_mut();
    let code = call!(
        machine,
        nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device, &raw mut back)
    );
    assert_eq!((code, back), (0, parent));

    // SAFETY: all fields are numbers.
    let mut attributes: nvmlDeviceAttributes_t = unsafe { std::mem::zeroed() };
    assert_eq!(
        call!(
            machine,
            nvmlDeviceGetAttributes_v2(device, &raw mut attributes)
        ),
        0
    );
    assert_eq!(
        (attributes.multiprocessorCount, attributes.memorySizeMB),
        (60, 71_168)
    );
    assert_eq!(
        call!(
            machine,
            nvmlDeviceGetAttributes_v2(parent, &raw mut attributes)
        ),
        2
    );
    let temperature = value(|place| call!(machine, nvmlDeviceGetTemperature(device, 0, place)));
    assert_eq!(temperature, Err::<u32, _>(3), "only whole GPUs have one");
}

#[test]
fn instances_tell_what_they_are_and_go_in_order() {
    if !is_root() {
        return;
    }
    let machine = Machine::new("h200x8");
    let (parent, instance, compute, device) = with_instance(&machine);
    // SAFETY: all fields are numbers and pointers.
    let (mut gi, mut ci): (nvmlGpuInstanceInfo_t, nvmlComputeInstanceInfo_t) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    assert_eq!(
        call!(machine, nvmlGpuInstanceGetInfo(instance, &raw mut gi)),
        0
    );
    assert_eq!(
        call!(machine, nvmlComputeInstanceGetInfo_v2(compute, &raw mut ci)),
        0
    );
    assert_eq!(
        (gi.device, gi.profileId, gi.placement.size),
        (parent, THREE, 4)
    );
    assert_eq!(
        (ci.device, ci.gpuInstance, ci.placement.size),
        (parent, instance, 3)
    );
    let id = value(|place| call!(machine, nvmlDeviceGetGpuInstanceId(device, place)));
    assert_eq!(id, Ok(gi.id));

    assert_eq!(
        call!(machine, nvmlGpuInstanceDestroy(instance)),
        19,
        "a compute instance is there"
    );
    assert_eq!(call!(machine, nvmlComputeInstanceDestroy(compute)), 0);
    assert_eq!(call!(machine, nvmlGpuInstanceDestroy(instance)), 0);
    assert_eq!(machine.name(device), Err(2), "the handle is stale");
    assert_eq!(
        call!(machine, nvmlGpuInstanceGetInfo(instance, &raw mut gi)),
        2
    );
}

#[test]
fn capacity_and_placements_shrink_and_grow() {
    if !is_root() {
        return;
    }
    let machine = Machine::new("h200x8");
    let device = machine.gpu(0);
    set_mode(&machine, device, 1);
    let capacity = |id| {
        value(|place| {
            call!(
                machine,
                nvmlDeviceGetGpuInstanceRemainingCapacity(device, id, place)
            )
        })
    };
    assert_eq!(capacity(ONE), Ok(7_u32));
    let at_4 = nvmlGpuInstancePlacement_t { start: 4, size: 4 };
    let mut instance = std::ptr::null_mut();
    let placed = call!(
        machine,
        nvmlDeviceCreateGpuInstanceWithPlacement(device, THREE, &raw const at_4, &raw mut instance)
    );
    assert_eq!(placed, 0);
    assert_eq!((capacity(ONE), capacity(THREE)), (Ok(4), Ok(1)));
    for _ in 0..4 {
        create(&machine, device, ONE).unwrap();
    }
    assert_eq!(create(&machine, device, ONE), Err(23));

    let mut count = 0;
    let mut handles = [std::ptr::null_mut(); 7];
    let code = call!(
        machine,
        nvmlDeviceGetGpuInstances(device, ONE, handles.as_mut_ptr(), &raw mut count)
    );
    assert_eq!((code, count), (0, 4));
    assert_eq!(call!(machine, nvmlGpuInstanceDestroy(handles[0])), 0);
    assert_eq!(capacity(ONE), Ok(1));

    let mut places = [nvmlGpuInstancePlacement_t { start: 0, size: 0 }; 8];
    let code = call!(
        machine,
        nvmlDeviceGetGpuInstancePossiblePlacements_v2(
            device,
            THREE,
            places.as_mut_ptr(),
            &raw mut count
        )
    );
    assert_eq!((code, count), (0, 2));
    assert_eq!((places[1].start, places[1].size), (4, 4));
}

#[test]
fn profile_info_has_three_versions() {
    let machine = Machine::new("h200x8");
    let device = machine.gpu(0);
    // SAFETY: all fields are numbers.
    let mut info: nvmlGpuInstanceProfileInfo_v2_t = unsafe { std::mem::zeroed() };
    let ask = |info: &mut nvmlGpuInstanceProfileInfo_v2_t, profile| {
        call!(
            machine,
            nvmlDeviceGetGpuInstanceProfileInfoV(device, profile, info)
        )
    };
    assert_eq!(ask(&mut info, 2), 25);
    for version in [2_u32, 3] {
        info.version = 152 | version << 24;
        assert_eq!(ask(&mut info, 2), 0, "version {version}");
        assert_eq!(info.id, THREE);
    }
    assert_eq!(ask(&mut info, 5), 3, "no profile of eight slices");
    assert_eq!(ask(&mut info, 99), 2);
    drop(machine);

    let machine = Machine::new("a100-40x8");
    let device = machine.gpu(0);
    let code = call!(
        machine,
        nvmlDeviceGetGpuInstanceProfileInfoV(device, 2, &raw mut info)
    );
    assert_eq!(code, 3, "an A100 tells its profiles in MIG mode only");
}
