//! Calls that hang, wait, fail; a held lock; a driver that is not there; a lost GPU.

#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used)]

#[macro_use]
mod client;

use std::sync::mpsc::{self, Receiver};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use client::{LONG, Machine, value};

/// A call that answers does so far earlier.
const A_MOMENT: Duration = Duration::from_millis(300);

/// Asks for the name of a GPU in a thread of its own.
fn ask<'scope>(
    scope: &'scope Scope<'scope, '_>,
    machine: &'scope Machine,
    index: u32,
) -> Receiver<Result<String, u32>> {
    let (sender, receiver) = mpsc::channel();
    let device = machine.gpu(index) as usize;
    scope.spawn(move || sender.send(machine.name(device as _)));
    receiver
}

fn temperature(machine: &Machine, index: u32) -> Result<u32, u32> {
    let device = machine.gpu(index);
    value(|place| call!(machine, nvmlDeviceGetTemperature(device, 0, place)))
}

#[test]
fn a_hang_costs_one_gpu_and_ends_when_cleared() {
    let machine = Machine::new("h200x8");
    thread::scope(|scope| {
        machine.gpusim(&["hang", "nvmlDeviceGetName", "--gpu", "5"]);
        let hanging = ask(scope, &machine, 5);
        assert!(hanging.recv_timeout(A_MOMENT).is_err(), "it hangs");
        assert_eq!(
            temperature(&machine, 5),
            Ok(31),
            "another call on the same GPU"
        );
        assert!(
            ask(scope, &machine, 4).recv_timeout(LONG).unwrap().is_ok(),
            "another GPU"
        );
        machine.gpusim(&["clear"]);
        assert_eq!(
            hanging.recv_timeout(LONG).unwrap().as_deref(),
            Ok("NVIDIA H200")
        );
    });
}

#[test]
fn a_hang_with_a_time_ends_by_itself() {
    let machine = Machine::new("t4x1");
    let device = machine.gpu(0);
    machine.gpusim(&["hang", "*", "--gpu", "0", "--for", "200ms"]);
    let began = Instant::now();
    assert!(machine.name(device).is_ok());
    assert!(began.elapsed() < LONG);
}

#[test]
fn a_hanging_call_sees_the_machine_as_it_is_afterwards() {
    let machine = Machine::new("h200x8");
    thread::scope(|scope| {
        machine.gpusim(&["hang", "nvmlDeviceGetName", "--gpu", "1"]);
        let hanging = ask(scope, &machine, 1);
        machine.gpusim(&["set", "1", "name", "changed"]);
        machine.gpusim(&["clear", "--gpu", "1"]);
        assert_eq!(
            hanging.recv_timeout(LONG).unwrap().as_deref(),
            Ok("changed")
        );
    });
}

#[test]
fn a_held_lock_stops_every_call() {
    let machine = Machine::new("h200x8");
    thread::scope(|scope| {
        let device = machine.gpu(0) as usize;
        machine.gpusim(&["lock"]);
        let (sender, answers) = mpsc::channel();
        let (machine, other) = (&machine, sender.clone());
        scope.spawn(move || sender.send(machine.name(device as _).map(|_| 0)));
        scope.spawn(move || other.send(machine.count()));
        assert!(answers.recv_timeout(A_MOMENT).is_err());
        machine.gpusim(&["unlock"]);
        assert!(answers.recv_timeout(LONG).unwrap().is_ok());
        assert!(answers.recv_timeout(LONG).unwrap().is_ok());
    });
}

#[test]
fn a_delay_takes_at_least_its_time() {
    let machine = Machine::new("t4x1");
    let device = machine.gpu(0);
    machine.gpusim(&["delay", "nvmlDeviceGetName", "--gpu", "0", "150ms"]);
    let began = Instant::now();
    assert!(machine.name(device).is_ok());
    assert!(began.elapsed() >= Duration::from_millis(150));
}

#[test]
fn a_failing_call_fails_as_often_as_said() {
    let machine = Machine::new("h200x8");
    machine.gpusim(&[
        "fail",
        "nvmlDeviceGetTemperature",
        "--gpu",
        "2",
        "--code",
        "999",
        "--times",
        "2",
    ]);
    assert_eq!(temperature(&machine, 1), Ok(31));
    assert_eq!(temperature(&machine, 2), Err(999));
    assert_eq!(temperature(&machine, 2), Err(999));
    assert_eq!(temperature(&machine, 2), Ok(31));
    machine.gpusim(&["fail", "nvmlDeviceGetCount", "--node", "--code", "17"]);
    assert_eq!(machine.count(), Err(17));
    machine.gpusim(&["clear"]);
    assert_eq!(machine.count(), Ok(8));
}

#[test]
fn a_lost_gpu_answers_15_to_every_call() {
    let machine = Machine::new("h200x8");
    let device = machine.gpu(3);
    let uuid = std::ffi::CString::new(machine.uuid(device).unwrap()).unwrap();
    machine.gpusim(&["lose", "3"]);
    let mut again = std::ptr::null_mut();
    assert_eq!(machine.name(device), Err(15));
    assert_eq!(
        call!(machine, nvmlDeviceGetHandleByIndex_v2(3, &raw mut again)),
        15
    );
    assert_eq!(
        call!(
            machine,
            nvmlDeviceGetHandleByUUID(uuid.as_ptr(), &raw mut again)
        ),
        15
    );
    assert_eq!(machine.count(), Ok(8), "it is still counted");
    assert!(machine.name(machine.gpu(4)).is_ok());
    machine.gpusim(&["restore", "3"]);
    assert!(machine.name(device).is_ok());
}

#[test]
fn the_driver_comes_late() {
    let machine = Machine::without_init("h200x8");
    for code in [9, 18] {
        machine.gpusim(&["driver", "--init-code", &code.to_string()]);
        assert_eq!(call!(machine, nvmlInit_v2()), code);
        assert_eq!(machine.count(), Err(1), "not initialised");
    }
    machine.gpusim(&["driver", "--init-code", "0"]);
    assert_eq!(call!(machine, nvmlInit_v2()), 0);
    assert_eq!(machine.count(), Ok(8));
}
