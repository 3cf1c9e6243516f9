//! Life and death of the child.

use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::time::timeout;

use crate::bench::{BUILT, Machine, Watched};

const PATIENCE: Duration = Duration::from_secs(20);

fn watch_process(pid: i32) -> Option<OwnedFd> {
    pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()).ok()
}

/// Waits until a process has ended.
async fn ended(process: OwnedFd) {
    let wait = move || {
        let patience = Timespec::try_from(PATIENCE).unwrap();
        poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&patience)).unwrap()
    };
    let ready = tokio::task::spawn_blocking(wait).await.unwrap();
    assert_eq!(ready, 1, "the process does not end");
}

/// Waits until no child looks at a machine.
pub(crate) async fn until_no_child(machine: &Machine) {
    for pid in machine.children() {
        if let Some(process) = watch_process(pid) {
            ended(process).await;
        }
    }
}

fn only_child(machine: &Machine) -> (i32, OwnedFd) {
    let [child] = machine.children()[..] else {
        unreachable!("one child")
    };
    (child, watch_process(child).unwrap())
}

#[tokio::test]
async fn stopping_ends_a_child_that_hangs() {
    let machine = Machine::new("h200x8");
    let (watched, _) = Watched::ready(&machine).await;
    let (_, child) = only_child(&machine);
    machine.gpusim(&["lock"]);
    watched.probe.rescan().await;
    watched.probe.stop().await;
    ended(child).await;
}

#[tokio::test]
async fn stopping_ends_a_child_that_is_frozen() {
    let machine = Machine::new("h200x8");
    let (watched, _) = Watched::ready(&machine).await;
    let (pid, child) = only_child(&machine);
    kill_process(Pid::from_raw(pid).unwrap(), Signal::STOP).unwrap();
    watched.probe.stop().await;
    ended(child).await;
}

#[tokio::test]
async fn a_probe_that_nobody_holds_ends() {
    let machine = Machine::new("t4x1");
    let (watched, _) = Watched::ready(&machine).await;
    let (_, child) = only_child(&machine);
    drop(watched);
    ended(child).await;
}

#[tokio::test]
async fn a_child_that_crashes_is_replaced() {
    let machine = Machine::new("t4x1");
    let (mut watched, facts) = Watched::ready(&machine).await;
    let (pid, _) = only_child(&machine);
    kill_process(Pid::from_raw(pid).unwrap(), Signal::ABORT).unwrap();
    let state = watched
        .driver(|state| *state != gpu_model::DriverState::Ready)
        .await;
    assert!(format!("{state:?}").contains("signal 6"), "{state:?}");
    assert_eq!(watched.machine().await, facts);
}

/// A program of its own with a probe inside, which is killed with its child frozen or not.
async fn killed_parent(freeze: bool) {
    let machine = Machine::new("t4x1");
    let mut parent = Command::new("/usr/bin/env")
        .arg(machine.environment())
        .arg(&BUILT.watch)
        .arg(&BUILT.library)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = tokio::process::ChildStdout::from_std(parent.stdout.take().unwrap()).unwrap();
    let mut lines = BufReader::new(output).lines();
    let read = async {
        while !lines
            .next_line()
            .await
            .unwrap()
            .unwrap()
            .starts_with("{\"Reading")
        {}
    };
    timeout(PATIENCE, read).await.expect("a reading");
    let (pid, child) = only_child(&machine);
    if freeze {
        kill_process(Pid::from_raw(pid).unwrap(), Signal::STOP).unwrap();
    }
    parent.kill().unwrap();
    parent.wait().unwrap();
    ended(child).await;
}

#[tokio::test]
async fn a_child_dies_with_its_parent() {
    killed_parent(false).await;
}

#[tokio::test]
async fn even_a_frozen_child_dies_with_its_parent() {
    killed_parent(true).await;
}
