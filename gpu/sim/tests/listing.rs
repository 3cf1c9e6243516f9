//! What clients list: through nvml-wrapper as most Rust programs do, and by the bare functions.

#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used)]

#[macro_use]
mod client;

use client::{Machine, library, value};
use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::TemperatureSensor;
use nvml_wrapper_sys::bindings::{nvmlMemory_v2_t, nvmlProcessInfo_v2_t};

#[test]
fn nvml_wrapper_sees_the_machine() {
    let _machine = Machine::without_init("h200x8");
    let nvml = Nvml::builder()
        .lib_path(library().as_os_str())
        .init()
        .unwrap();
    assert_eq!(nvml.sys_driver_version().unwrap(), "580.95.05");
    assert_eq!(nvml.device_count().unwrap(), 8);
    for index in 0..8 {
        let device = nvml.device_by_index(index).unwrap();
        assert_eq!(device.name().unwrap(), "NVIDIA H200");
        assert_eq!(device.minor_number().unwrap(), index);
        assert_eq!(device.memory_info().unwrap().total >> 20, 143_771);
        assert_eq!(device.temperature(TemperatureSensor::Gpu).unwrap(), 31);
        let uuid = device.uuid().unwrap();
        assert_eq!(nvml.device_by_uuid(uuid).unwrap().index().unwrap(), index);
        let bus_id = device.pci_info().unwrap().bus_id;
        assert_eq!(bus_id.len(), "00000000:1B:00.0".len());
        assert_eq!(
            nvml.device_by_pci_bus_id(bus_id).unwrap().index().unwrap(),
            index
        );
    }
}

#[test]
fn changes_are_seen_at_once_by_a_client_that_runs() {
    let machine = Machine::new("t4x1");
    let device = machine.gpu(0);
    let temperature = || value(|place| call!(machine, nvmlDeviceGetTemperature(device, 0, place)));
    assert_eq!(temperature(), Ok(36));
    machine.gpusim(&["set", "0", "temperature", "91"]);
    assert_eq!(temperature(), Ok(91));
}

#[test]
fn memory_info_checks_its_version() {
    let machine = Machine::new("h200x8");
    let device = machine.gpu(0);
    machine.gpusim(&["set", "0", "memory.used", "1GiB"]);
    let mut memory = nvmlMemory_v2_t {
        version: 0,
        total: 0,
        reserved: 0,
        free: 0,
        used: 0,
    };
    assert_eq!(
        call!(machine, nvmlDeviceGetMemoryInfo_v2(device, &raw mut memory)),
        25
    );
    memory.version = 40 | 2 << 24;
    assert_eq!(
        call!(machine, nvmlDeviceGetMemoryInfo_v2(device, &raw mut memory)),
        0
    );
    assert_eq!(memory.used, 1 << 30);
    assert_eq!(memory.free + memory.used + memory.reserved, memory.total);
}

#[test]
fn null_small_buffers_and_strange_handles_are_told() {
    let machine = Machine::new("h200x8");
    let device = machine.gpu(0);
    let nothing: *mut u32 = std::ptr::null_mut();
    assert_eq!(call!(machine, nvmlDeviceGetCount_v2(nothing)), 2);
    assert_eq!(
        call!(machine, nvmlDeviceGetName(device, std::ptr::null_mut(), 96)),
        2
    );
    let mut small = [0; 5];
    assert_eq!(
        call!(machine, nvmlDeviceGetName(device, small.as_mut_ptr(), 5)),
        7
    );
    assert_eq!(machine.name(std::ptr::null_mut()), Err(2));
    assert_eq!(
        machine.name(0xdead_beef_usize as _),
        Err(2),
        "a pointer from nowhere"
    );
    let mut handle = std::ptr::null_mut();
    assert_eq!(
        call!(machine, nvmlDeviceGetHandleByIndex_v2(8, &raw mut handle)),
        2
    );
    assert_eq!(
        call!(
            machine,
            nvmlDeviceGetHandleByUUID(c"GPU-none".as_ptr(), &raw mut handle)
        ),
        6
    );
    assert_eq!(
        call!(
            machine,
            nvmlDeviceGetHandleByUUID(std::ptr::null(), &raw mut handle)
        ),
        2
    );
}

#[test]
fn processes_come_and_go_and_take_memory() {
    let machine = Machine::new("h200x8");
    let device = machine.gpu(0);
    machine.gpusim(&["process", "add", "0", "--pid", "41", "--memory", "2GiB"]);
    machine.gpusim(&["process", "add", "0", "--pid", "42", "--memory", "1GiB"]);
    let mut count = 1;
    let empty = nvmlProcessInfo_v2_t {
        pid: 0,
        usedGpuMemory: 0,
        gpuInstanceId: 0,
        computeInstanceId: 0,
    };
    let mut infos = [empty; 4];
    let list = |count: &mut u32, infos: &mut [nvmlProcessInfo_v2_t; 4]| {
        call!(
            machine,
            nvmlDeviceGetComputeRunningProcesses_v3(device, count, infos.as_mut_ptr())
        )
    };
    assert_eq!(
        (list(&mut count, &mut infos), count),
        (7, 2),
        "no room for two"
    );
    count = 4;
    assert_eq!((list(&mut count, &mut infos), count), (0, 2));
    let seen = infos.map(|info| (info.pid, info.usedGpuMemory >> 30));
    assert_eq!(seen, [(41, 2), (42, 1), (0, 0), (0, 0)]);
    assert_eq!(infos[0].gpuInstanceId, u32::MAX);
    machine.gpusim(&["process", "remove", "0", "41"]);
    assert_eq!((list(&mut count, &mut infos), count), (0, 1));
}

#[test]
fn a_removed_gpu_is_not_counted_and_comes_back_with_its_identity() {
    let machine = Machine::new("h200x8");
    let removed = machine.gpu(3);
    let uuid = machine.uuid(removed).unwrap();
    machine.gpusim(&["remove", "3"]);
    assert_eq!(machine.count(), Ok(7));
    assert_eq!(machine.uuid(removed), Err(15));
    let fourth = machine.gpu(3);
    assert_eq!(
        value(|place| call!(machine, nvmlDeviceGetMinorNumber(fourth, place))),
        Ok(4_u32)
    );
    machine.gpusim(&["add"]);
    assert_eq!(machine.count(), Ok(8));
    assert_eq!(machine.uuid(removed), Ok(uuid));
}
