//! GPUs and libraries that hang, get lost, come and go.

use gpu_model::{DriverState, GpuUuid, ProbeReport};
use rustix::process::{Pid, Signal, kill_process};

use crate::bench::{Machine, Watched};

fn unresponsive(report: &ProbeReport) -> Option<(GpuUuid, String)> {
    match report {
        ProbeReport::Unresponsive { gpu, detail } => Some((gpu.clone(), detail.clone())),
        _ => None,
    }
}

fn responsive(report: &ProbeReport) -> Option<GpuUuid> {
    match report {
        ProbeReport::Responsive(gpu) => Some(gpu.clone()),
        _ => None,
    }
}

#[tokio::test]
async fn a_call_that_hangs_costs_one_gpu() {
    let machine = Machine::new("h200x8");
    let (mut watched, facts) = Watched::ready(&machine).await;
    let five = facts.gpus[5].uuid.clone();
    machine.gpusim(&["hang", "nvmlDeviceGetPowerUsage", "--gpu", "5"]);
    watched.probe.read(five.clone()).await;
    let (gpu, detail) = watched.until("unresponsive GPU", unresponsive).await;
    assert_eq!(gpu, five);
    assert_eq!(detail, "nvmlDeviceGetPowerUsage has not returned for 5 s");

    for gpu in facts.gpus.iter().filter(|gpu| gpu.index != 5) {
        watched.probe.read(gpu.uuid.clone()).await;
        watched.reading(&gpu.uuid).await;
    }
    watched.probe.rescan().await;
    let without = watched.machine().await;
    assert_eq!(without.gpus.len(), 7);
    let silent: Vec<_> = without
        .silent
        .iter()
        .map(|it| (it.index, it.uuid.as_ref()))
        .collect();
    assert_eq!(silent, [(5, Some(&five))], "it is known by its name");

    machine.gpusim(&["clear", "--gpu", "5"]);
    assert_eq!(watched.until("responsive GPU", responsive).await, five);
    watched.reading(&five).await;
    assert_eq!(
        watched.states(),
        [&DriverState::Ready],
        "the driver as a whole was never in doubt"
    );
}

#[tokio::test]
async fn a_gpu_that_hangs_from_the_beginning_does_not_hide_the_others() {
    let machine = Machine::new("h200x8");
    machine.gpusim(&["hang", "*", "--gpu", "5"]);
    let mut watched = Watched::start(machine.settings());
    let facts = watched.machine().await;
    assert_eq!((facts.gpus.len(), facts.silent.len()), (7, 1));
    assert!(
        facts.silent[0].fault.contains("has not returned"),
        "{:?}",
        facts.silent
    );
    machine.gpusim(&["clear"]);
    assert_eq!(watched.machine().await.gpus.len(), 8);
}

#[tokio::test]
async fn a_frozen_child_is_replaced() {
    let machine = Machine::new("h200x8");
    let (mut watched, facts) = Watched::ready(&machine).await;
    let [frozen] = machine.children()[..] else {
        unreachable!("one child")
    };
    kill_process(Pid::from_raw(frozen).unwrap(), Signal::STOP).unwrap();
    let state = watched.driver(|state| *state != DriverState::Ready).await;
    assert!(matches!(&state, DriverState::Unresponsive { detail } if detail.contains("frozen")));
    watched.driver(|state| *state == DriverState::Ready).await;
    assert_eq!(watched.machine().await, facts, "the same GPUs");
    assert!(watched.seen.contains(&ProbeReport::Missed));
    let [new] = machine.children()[..] else {
        unreachable!("one child")
    };
    assert_ne!(new, frozen);
}

#[tokio::test]
async fn a_library_that_hangs_as_a_whole_blames_no_gpu() {
    let machine = Machine::new("h200x8");
    let (mut watched, facts) = Watched::ready(&machine).await;
    machine.gpusim(&["lock"]);
    watched.probe.rescan().await;
    watched
        .driver(|state| matches!(state, DriverState::Unresponsive { .. }))
        .await;
    machine.gpusim(&["unlock"]);
    watched.driver(|state| *state == DriverState::Ready).await;
    assert_eq!(watched.machine().await, facts);
    assert!(
        !watched
            .seen
            .iter()
            .any(|report| unresponsive(report).is_some())
    );
}

#[tokio::test]
async fn a_lost_gpu_is_named_with_its_code() {
    let machine = Machine::new("h200x8");
    let (mut watched, facts) = Watched::ready(&machine).await;
    let two = facts.gpus[2].uuid.clone();
    machine.gpusim(&["lose", "2"]);
    watched.probe.rescan().await;
    let lost = |report: &ProbeReport| match report {
        ProbeReport::Lost { gpu, code } => Some((gpu.clone(), *code)),
        _ => None,
    };
    assert_eq!(watched.until("lost GPU", lost).await, (two.clone(), 15));
    let without = watched.machine().await;
    assert_eq!(without.silent[0].uuid.as_ref(), Some(&two));
    machine.gpusim(&["restore", "2"]);
    watched.probe.rescan().await;
    assert_eq!(watched.until("responsive GPU", responsive).await, two);
}

#[tokio::test]
async fn features_that_fail_are_left_out_and_harm_nobody() {
    let machine = Machine::new("h200x8");
    for call in [
        "nvmlDeviceGetTemperature",
        "nvmlDeviceGetFieldValues",
        "nvmlDeviceGetNvLinkState",
    ] {
        machine.gpusim(&["fail", call, "--gpu", "all", "--code", "3"]);
    }
    machine.gpusim(&["fail", "nvmlDeviceGetMigMode", "--gpu", "1", "--code", "13"]);
    machine.gpusim(&[
        "fail",
        "nvmlDeviceGetEccMode",
        "--gpu",
        "1",
        "--code",
        "999",
    ]);
    let mut watched = Watched::start(machine.settings());
    let facts = watched.machine().await;
    assert_eq!(facts.gpus.len(), 8);
    assert_eq!(
        (facts.gpus[1].mig.as_ref(), facts.gpus[1].ecc),
        (None, None)
    );
    let reading = watched.reading(&facts.gpus[0].uuid).await;
    assert_eq!((reading.temperature, reading.recovery), (None, None));
    assert!(reading.power.is_some());
}

#[tokio::test]
async fn a_gpu_is_unplugged_and_plugged_in_again() {
    let machine = Machine::new("h200x8");
    let (mut watched, facts) = Watched::ready(&machine).await;
    machine.gpusim(&["remove", "3"]);
    watched.probe.rescan().await;
    let seven = watched.machine().await;
    assert_eq!((seven.gpus.len(), seven.silent.len()), (7, 0));
    assert!(!seven.gpus.iter().any(|gpu| gpu.uuid == facts.gpus[3].uuid));
    machine.gpusim(&["add", "3"]);
    watched.probe.rescan().await;
    assert_eq!(watched.machine().await, facts);
}

#[tokio::test]
async fn a_device_node_that_appears_makes_a_look() {
    let machine = Machine::new("h200x8");
    machine.gpusim(&["remove", "3"]);
    let (mut watched, _) = Watched::ready(&machine).await;
    machine.gpusim(&["add", "3"]);
    std::fs::write(machine.path("dev/nvidia3"), "").unwrap();
    assert_eq!(watched.machine().await.gpus.len(), 8);
}
