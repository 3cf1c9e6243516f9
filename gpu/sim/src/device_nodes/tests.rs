//! Minors of capability nodes, and nodes that follow the state.

// A test that cannot run says why.
#![allow(clippy::print_stderr)]

use super::*;
use crate::profile::Profile;
use crate::state::{ComputeInstance, GpuInstance, Text};

#[test]
fn capability_minors_are_those_of_the_driver() {
    let minors = mig_minors(2);
    for line in [
        "config 1",
        "monitor 2",
        "gpu0/gi0/access 3",
        "gpu0/gi0/ci0/access 4",
        "gpu0/gi7/access 66",
        "gpu1/gi0/access 138",
    ] {
        assert!(minors.lines().any(|known| known == line), "{line}");
    }
    assert_eq!(minors.lines().count(), 2 + 2 * 15 * 9);
}

#[test]
fn free_majors_are_different_and_free() {
    let majors = free_majors();
    let devices = fs::read_to_string("/proc/devices").unwrap_or_default();
    for major in [majors.uvm, majors.caps, majors.nvswitch] {
        assert!((LOWEST_DYNAMIC..=HIGHEST_DYNAMIC).contains(&major));
        assert!(
            !devices
                .lines()
                .any(|line| line.trim_start().starts_with(&format!("{major} ")))
        );
    }
    assert!(majors.uvm != majors.caps && majors.caps != majors.nvswitch);
}

#[test]
fn nodes_come_and_go_with_gpus_and_instances() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: making device nodes needs root");
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let machine = Profile::named("h200x8").and_then(|profile| profile.machine("h200x8", 0));
    let mut state = machine.expect("built in");
    state.node.dev_root = Some(dir.path().to_owned());
    state.node.majors = Majors {
        uvm: 511,
        caps: 510,
        nvswitch: 509,
    };
    follow(&state).expect("root makes nodes");
    let device = |name: &str| {
        fs::metadata(dir.path().join("dev").join(name))
            .ok()
            .map(|node| node.rdev())
    };
    assert_eq!(device("nvidia7"), Some(makedev(195, 7)));
    assert_eq!(device("nvidiactl"), Some(makedev(195, 255)));
    assert_eq!(device("nvidia-uvm-tools"), Some(makedev(511, 1)));
    assert_eq!(device("nvidia-nvswitch3"), Some(makedev(509, 3)));
    assert_eq!(device("nvidia-caps/nvidia-cap2"), Some(makedev(510, 2)));

    state.gpus[3].present = false;
    let compute = ComputeInstance {
        id: 1,
        serial: 2,
        profile: 0,
        start: 0,
        size: 1,
        index: 0,
        uuid: Text::default(),
    };
    let instance = GpuInstance {
        id: 7,
        serial: 1,
        profile: 19,
        start: 0,
        size: 1,
        compute: vec![compute],
    };
    state.gpus[0]
        .mig
        .get_or_insert_default()
        .instances
        .push(instance);
    // Somebody put a plain file where a node belongs.
    fs::remove_file(dir.path().join("dev/nvidia0")).expect("it is there");
    fs::write(dir.path().join("dev/nvidia0"), "").expect("writable");
    follow(&state).expect("root makes nodes");
    assert_eq!(device("nvidia3"), None);
    assert_eq!(device("nvidia0"), Some(makedev(195, 0)));
    assert_eq!(device("nvidia-caps/nvidia-cap66"), Some(makedev(510, 66)));
    assert_eq!(device("nvidia-caps/nvidia-cap68"), Some(makedev(510, 68)));

    state.gpus[0].mig.get_or_insert_default().instances.clear();
    follow(&state).expect("root removes nodes");
    assert_eq!(device("nvidia-caps/nvidia-cap66"), None);
}
