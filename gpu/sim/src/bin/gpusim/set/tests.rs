//! Setting values by path.

use nvidia_ml::{Profile, State};

use super::*;

fn machine() -> State {
    let machine = Profile::named("h200x8").and_then(|profile| profile.machine("h200x8", 0));
    machine.expect("built in")
}

fn set_one(state: &mut State, gpu: &str, path: &str, value: &str) -> Result<String, Failure> {
    set(
        state,
        &Set {
            gpu: gpu.into(),
            path: path.into(),
            value: value.into(),
        },
    )
}

#[test]
fn any_value_can_be_set() {
    let mut state = machine();
    let changes = [
        ("0", "temperature", "91"),
        ("0", "memory.used", "40GiB"),
        ("0", "recovery_action", "1"),
        ("0", "fabric.state", "2"),
        ("0", "ecc.volatile.dram_uncorrected", "0x10"),
        ("0", "nvlinks.3.active", "false"),
        ("0", "fields.147", "3"),
        ("0", "serial", "12"),
        ("1", "fabric", "null"),
        ("all", "name", "\\xff"),
        ("node", "device_count", "4000000000"),
    ];
    for (gpu, path, value) in changes {
        set_one(&mut state, gpu, path, value).unwrap_or_else(|failure| panic!("{path}: {failure}"));
    }
    let gpu = &state.gpus[0];
    assert_eq!((gpu.temperature.gpu, gpu.memory.used), (91, 40 << 30));
    assert_eq!(gpu.recovery_action, Some(1));
    assert_eq!(gpu.fabric.as_ref().map(|fabric| fabric.state), Some(2));
    assert_eq!(gpu.ecc.volatile.dram_uncorrected, 16);
    assert!(!gpu.nvlinks[3].active && gpu.nvlinks[4].active);
    assert_eq!(gpu.fields.get(&147), Some(&3));
    assert_eq!(gpu.serial.as_written(), "12", "text stays text");
    assert!(state.gpus[1].fabric.is_none());
    assert!(state.gpus.iter().all(|gpu| gpu.name.bytes() == [0xff]));
    assert_eq!(state.reported_count(), 4_000_000_000);
}

#[test]
fn a_group_that_is_absent_can_be_filled() {
    let machine = Profile::named("t4x1").and_then(|profile| profile.machine("t4x1", 0));
    let mut state = machine.expect("built in");
    set_one(&mut state, "0", "fabric.state", "1").expect("fabric is optional");
    assert_eq!(
        state.gpus[0].fabric.as_ref().map(|fabric| fabric.state),
        Some(1)
    );
}

#[test]
fn mistakes_name_the_path_and_change_nothing() {
    let mut state = machine();
    for (path, value, hint) in [
        ("temperature.gpu", "hot", "expected i32"),
        ("temprature", "1", "unknown field"),
        ("nvlinks.40.active", "false", "list of 18"),
        ("temperature.gpu.core", "1", "nothing below"),
        ("pci.generation", "-1", "expected u32"),
    ] {
        let failure = set_one(&mut state, "0", path, value)
            .expect_err(path)
            .to_string();
        assert!(
            failure.contains(path) && failure.contains(hint),
            "{failure}"
        );
    }
    assert!(set_one(&mut state, "9", "name", "x").is_err());
    assert_eq!(state, machine());
}
