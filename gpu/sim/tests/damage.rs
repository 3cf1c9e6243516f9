//! No state, damaged state, absurd values: clean codes, never a crash.

#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used)]

#[macro_use]
mod client;

use std::fs;

use client::{Machine, value};

const DRIVER_NOT_LOADED: u32 = 9;
const UNKNOWN: u32 = 999;

#[test]
fn without_a_state_the_driver_is_not_loaded() {
    let machine = Machine::without_init("t4x1");
    let whole = fs::read(machine.state_file()).unwrap();
    fs::remove_file(machine.state_file()).unwrap();
    assert_eq!(call!(machine, nvmlInit_v2()), DRIVER_NOT_LOADED);
    // SAFETY: the tests of this program take turns.
    unsafe { std::env::remove_var("GPUSIM_STATE") };
    assert_eq!(call!(machine, nvmlInit_v2()), DRIVER_NOT_LOADED);
    // SAFETY: as above.
    unsafe { std::env::set_var("GPUSIM_STATE", machine.state_file().parent().unwrap()) };
    fs::write(machine.state_file(), whole).unwrap();
    assert_eq!(call!(machine, nvmlInit_v2()), 0);
}

#[test]
fn a_damaged_state_is_an_error_until_it_is_repaired() {
    let machine = Machine::new("h200x8");
    let device = machine.gpu(0);
    let whole = fs::read(machine.state_file()).unwrap();
    for content in [
        &whole[..whole.len() / 2],
        b"",
        b"\xff\xfe\0garbage",
        b"{}",
        b"null",
    ] {
        fs::write(machine.state_file(), content).unwrap();
        assert_eq!(machine.count(), Err(UNKNOWN));
        assert_eq!(machine.name(device), Err(UNKNOWN));
        assert_eq!(call!(machine, nvmlInit_v2()), UNKNOWN);
    }
    fs::remove_file(machine.state_file()).unwrap();
    assert_eq!(machine.count(), Err(DRIVER_NOT_LOADED));
    fs::write(machine.state_file(), &whole).unwrap();
    assert_eq!(machine.name(device).as_deref(), Ok("NVIDIA H200"));
}

#[test]
fn shutting_down_works_without_a_state() {
    let machine = Machine::new("t4x1");
    fs::remove_file(machine.state_file()).unwrap();
    assert_eq!(call!(machine, nvmlShutdown()), 0);
    assert_eq!(call!(machine, nvmlShutdown()), 1);
}

#[test]
fn initialisations_are_counted() {
    let machine = Machine::new("t4x1");
    assert_eq!(call!(machine, nvmlInit_v2()), 0);
    assert_eq!(call!(machine, nvmlShutdown()), 0);
    assert_eq!(machine.count(), Ok(1));
    assert_eq!(call!(machine, nvmlShutdown()), 0);
    assert_eq!(machine.count(), Err(1));
}

#[test]
fn absurd_values_come_through_as_they_are() {
    let machine = Machine::new("h200x8");
    let device = machine.gpu(0);
    machine.gpusim(&["set", "node", "device_count", "4000000000"]);
    assert_eq!(machine.count(), Ok(4_000_000_000));
    let mut handle = std::ptr::null_mut();
    assert_eq!(
        call!(
            machine,
            nvmlDeviceGetHandleByIndex_v2(3_999_999_999, &raw mut handle)
        ),
        2
    );

    machine.gpusim(&["set", "all", "name", "\\xff\\xfe"]);
    let mut bytes = [0; 96];
    assert_eq!(
        call!(machine, nvmlDeviceGetName(device, bytes.as_mut_ptr(), 96)),
        0
    );
    assert_eq!(
        bytes[..3]
            .iter()
            .map(|byte| byte.to_ne_bytes()[0])
            .collect::<Vec<_>>(),
        [255, 254, 0]
    );
    machine.gpusim(&["set", "0", "name", &"x".repeat(5000)]);
    assert_eq!(machine.name(device), Err(7));

    machine.gpusim(&["set", "0", "pci.address", "nonsense"]);
    // SAFETY: all fields are numbers.
    let mut pci = unsafe { std::mem::zeroed() };
    assert_eq!(
        call!(machine, nvmlDeviceGetPciInfo_v3(device, &raw mut pci)),
        UNKNOWN
    );
    machine.gpusim(&["set", "0", "memory.used", "18446744073709551615"]);
    // SAFETY: all fields are numbers.
    let mut memory: nvml_wrapper_sys::bindings::nvmlMemory_t = unsafe { std::mem::zeroed() };
    assert_eq!(
        call!(machine, nvmlDeviceGetMemoryInfo(device, &raw mut memory)),
        0
    );
    assert_eq!((memory.used, memory.free), (u64::MAX, 0));
    machine.gpusim(&["set", "0", "temperature.gpu", "-40"]);
    assert_eq!(
        value(|place| call!(machine, nvmlDeviceGetTemperature(device, 0, place))),
        Ok(0_u32)
    );
    let ancestor = |other| {
        let other = machine.gpu(other);
        value(|place| {
            call!(
                machine,
                nvmlDeviceGetTopologyCommonAncestor(device, other, place)
            )
        })
    };
    assert_eq!(ancestor(1), Ok(40_u32));
    let mut words = [0; 4];
    machine.gpusim(&["set", "0", "cpus", "0-4000000000,x"]);
    assert_eq!(
        call!(
            machine,
            nvmlDeviceGetCpuAffinity(device, 4, words.as_mut_ptr())
        ),
        0
    );
    assert_eq!(words, [u64::MAX; 4]);
}
