//! Event sets: every set sees each event after its registration, waits end at once.

#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used)]

#[macro_use]
mod client;

use std::sync::mpsc;
use std::thread;

use client::{LONG, Machine, is_root};
use nvml_wrapper_sys::bindings::{nvmlEventData_t, nvmlEventSet_t};

const XID: u64 = 0x8;
const MIG_CHANGE: u64 = 0x100;
const TIMEOUT: u32 = 10;

fn event_set(machine: &Machine, gpus: &[u32], kinds: u64) -> nvmlEventSet_t {
    let mut set = std::ptr::null_mut();
    assert_eq!(call!(machine, nvmlEventSetCreate(&raw mut set)), 0);
    for gpu in gpus {
        assert_eq!(
            call!(
                machine,
                nvmlDeviceRegisterEvents(machine.gpu(*gpu), kinds, set)
            ),
            0
        );
    }
    set
}

/// Type, data, GPU instance, compute instance and index of the GPU.
type Seen = (u64, u64, u32, u32, u32);

fn wait(machine: &Machine, set: nvmlEventSet_t, milliseconds: u32) -> Result<Seen, u32> {
    // SAFETY: all fields are numbers and a pointer.
    let mut data: nvmlEventData_t = unsafe { std::mem::zeroed() };
    match call!(
        machine,
        nvmlEventSetWait_v2(set, &raw mut data, milliseconds)
    ) {
        0 => {
            let mut index = u32::MAX;
            call!(machine, nvmlDeviceGetIndex(data.device, &raw mut index));
            Ok((
                data.eventType,
                data.eventData,
                data.gpuInstanceId,
                data.computeInstanceId,
                index,
            ))
        }
        code => Err(code),
    }
}

#[test]
fn events_after_registration_arrive_in_order_in_every_set() {
    let machine = Machine::new("h200x8");
    machine.gpusim(&["xid", "0", "13"]);
    let both = event_set(&machine, &[0, 1], XID);
    let second = event_set(&machine, &[1], XID);
    machine.gpusim(&["xid", "0", "79"]);
    machine.gpusim(&["event", "1", "double-bit-ecc"]);
    machine.gpusim(&["xid", "1", "94", "--gi", "9", "--ci", "0"]);
    assert_eq!(
        wait(&machine, both, 0),
        Ok((XID, 79, u32::MAX, u32::MAX, 0))
    );
    assert_eq!(wait(&machine, both, 0), Ok((XID, 94, 9, 0, 1)));
    assert_eq!(wait(&machine, both, 0), Err(TIMEOUT));
    assert_eq!(wait(&machine, second, 0), Ok((XID, 94, 9, 0, 1)));
    assert_eq!(call!(machine, nvmlEventSetFree(both)), 0);
    assert_eq!(wait(&machine, both, 0), Err(2), "the set is gone");
}

#[test]
fn a_wait_ends_when_the_event_comes() {
    let machine = Machine::new("h200x8");
    let set = event_set(&machine, &[5], XID);
    let (started, has_started) = mpsc::channel();
    let (sender, result) = mpsc::channel();
    let set_number = set as usize;
    thread::scope(|scope| {
        let machine = &machine;
        scope.spawn(move || {
            started.send(()).unwrap();
            let limit = u32::try_from(LONG.as_millis()).unwrap();
            sender.send(wait(machine, set_number as _, limit)).unwrap();
        });
        has_started.recv_timeout(LONG).unwrap();
        machine.gpusim(&["xid", "5", "48"]);
        let seen = result
            .recv_timeout(LONG / 2)
            .expect("long before the time is up");
        assert_eq!(seen, Ok((XID, 48, u32::MAX, u32::MAX, 5)));
    });
}

#[test]
fn unsupported_types_are_refused_and_supported_ones_listed() {
    let machine = Machine::new("t4x1");
    let mut kinds = 0;
    assert_eq!(
        call!(
            machine,
            nvmlDeviceGetSupportedEventTypes(machine.gpu(0), &raw mut kinds)
        ),
        0
    );
    assert_eq!((kinds & XID, kinds & MIG_CHANGE), (XID, 0));
    let set = event_set(&machine, &[0], XID);
    assert_eq!(
        call!(
            machine,
            nvmlDeviceRegisterEvents(machine.gpu(0), MIG_CHANGE, set)
        ),
        3
    );
}

#[test]
fn a_lost_gpu_ends_waits_after_the_events_before_it() {
    let machine = Machine::new("h200x8");
    let set = event_set(&machine, &[0, 1], XID);
    machine.gpusim(&["xid", "0", "79"]);
    machine.gpusim(&["lose", "0"]);
    assert_eq!(wait(&machine, set, 0).map(|seen| seen.1), Ok(79));
    assert_eq!(wait(&machine, set, 1000), Err(15));
    machine.gpusim(&["restore", "0"]);
    assert_eq!(wait(&machine, set, 0), Err(TIMEOUT));
}

#[test]
fn changes_of_mig_are_events() {
    if !is_root() {
        return;
    }
    let machine = Machine::new("h200x8");
    let set = event_set(&machine, &[2], MIG_CHANGE);
    let mut status = 0;
    assert_eq!(
        call!(
            machine,
            nvmlDeviceSetMigMode(machine.gpu(2), 1, &raw mut status)
        ),
        0
    );
    assert_eq!(wait(&machine, set, 0).map(|seen| seen.0), Ok(MIG_CHANGE));
}
