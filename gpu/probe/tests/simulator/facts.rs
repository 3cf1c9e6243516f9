//! What a healthy machine looks like.

use std::collections::BTreeSet;
use std::time::Duration;

use gpu_model::{DriverState, LinkPeer, RecoveryAction, TopologyLevel};

use crate::bench::{Machine, Watched};

#[tokio::test]
async fn eight_h200_on_four_switches() {
    let machine = Machine::new("h200x8");
    let (watched, facts) = Watched::ready(&machine).await;
    assert_eq!(watched.states(), [&DriverState::Ready]);
    assert!(facts.driver.simulated, "the simulator says so itself");
    assert_eq!(facts.driver.cuda, (13, 0));
    assert_eq!((facts.gpus.len(), facts.silent.len()), (8, 0));
    let uuids: BTreeSet<_> = facts.gpus.iter().map(|gpu| &gpu.uuid).collect();
    assert_eq!(uuids.len(), 8);
    for (number, gpu) in (0..).zip(&facts.gpus) {
        assert_eq!(
            (gpu.index, gpu.minor, gpu.name.as_str()),
            (number, number, "NVIDIA H200")
        );
        assert_eq!((gpu.compute, gpu.architecture.as_str()), ((9, 0), "hopper"));
        assert_eq!(gpu.numa, Some(number / 4), "without sysfs the driver tells");
        assert_eq!(gpu.memory, 150_754_820_096);
        assert_eq!(gpu.links.len(), 18);
        assert!(
            gpu.links
                .iter()
                .all(|link| link.active && link.peer == LinkPeer::Switch)
        );
        assert!(
            gpu.fabric.as_ref().is_some_and(|fabric| fabric.complete),
            "{:?}",
            gpu.fabric
        );
    }
    assert_eq!(facts.levels[0][3], TopologyLevel::Node);
    assert_eq!(facts.levels[3][4], TopologyLevel::System);
    assert_eq!(facts.levels[4][3], TopologyLevel::System);
}

#[tokio::test]
async fn what_the_kernel_says_about_numa_comes_first() {
    let machine = Machine::new("t4x1");
    let pci = Watched::ready(&machine).await.1.gpus[0].pci;
    let folder = machine.path("sys/bus/pci/devices").join(pci.to_string());
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("numa_node"), "5\n").unwrap();
    std::fs::write(folder.join("local_cpulist"), "80-95\n").unwrap();
    let (_, facts) = Watched::ready(&machine).await;
    assert_eq!(
        (facts.gpus[0].numa, facts.gpus[0].cpus.as_str()),
        (Some(5), "80-95")
    );
}

#[tokio::test]
async fn links_between_gpus_name_the_other_gpu() {
    let machine = Machine::new("v100x8");
    let (_, facts) = Watched::ready(&machine).await;
    let places: BTreeSet<_> = facts.gpus.iter().map(|gpu| gpu.pci).collect();
    for gpu in &facts.gpus {
        let peers: Vec<_> = gpu
            .links
            .iter()
            .filter_map(|link| match link.peer {
                LinkPeer::Gpu(peer) if link.active => Some(peer),
                _ => None,
            })
            .collect();
        assert!(!peers.is_empty(), "{gpu:?}");
        assert!(
            peers
                .iter()
                .all(|peer| places.contains(peer) && *peer != gpu.pci),
            "{peers:?}"
        );
    }
}

#[tokio::test]
async fn mig_devices_have_profiles_instances_and_placements() {
    let machine = Machine::new("h200x8");
    machine.gpusim(&["set", "2", "mig.current", "true"]);
    machine.gpusim(&["set", "2", "mig.pending", "true"]);
    let compute = |serial: u32, index: u32, uuid: &str| {
        format!(
            r#"[{{"id":0,"serial":{serial},"profile":0,"start":0,"size":1,"index":{index},"uuid":"{uuid}"}}]"#
        )
    };
    let instances = format!(
        r#"[{{"id":7,"serial":1,"profile":19,"start":0,"size":1,"compute":{}}},
            {{"id":9,"serial":2,"profile":19,"start":3,"size":1,"compute":{}}}]"#,
        compute(3, 0, "MIG-11111111-2222-3333-4444-555555555555"),
        compute(4, 4, "MIG-66666666-2222-3333-4444-555555555555"),
    );
    machine.gpusim(&["set", "2", "mig.instances", &instances]);
    let (_, facts) = Watched::ready(&machine).await;
    let mig = facts.gpus[2].mig.as_ref().unwrap();
    assert!(mig.enabled && mig.pending);
    let devices: Vec<_> = mig
        .devices
        .iter()
        .map(|it| {
            (
                it.gpu_instance,
                it.compute_instance,
                it.profile.as_str(),
                it.memory > 0,
            )
        })
        .collect();
    assert_eq!(
        devices,
        [(7, 0, "1g.18gb", true), (9, 0, "1g.18gb", true)],
        "with a hole between"
    );
    let profile = mig
        .profiles
        .iter()
        .find(|profile| profile.name == "3g.71gb")
        .unwrap();
    assert_eq!((profile.id, profile.instances), (9, 2));
    assert_eq!(profile.placements, [(0, 4), (4, 4)]);
    assert!(!facts.gpus[3].mig.as_ref().unwrap().enabled);
}

#[tokio::test]
async fn a_reading_shows_what_the_gpu_does() {
    let machine = Machine::new("h200x8");
    let (mut watched, facts) = Watched::ready(&machine).await;
    for (path, value) in [
        ("memory.used", "40GiB"),
        ("utilization.gpu", "97"),
        ("power.usage", "650000"),
        ("temperature.gpu", "71"),
        ("recovery_action", "2"),
        ("ecc.remapped_rows.pending", "true"),
    ] {
        machine.gpusim(&["set", "6", path, value]);
    }
    machine.gpusim(&["process", "add", "6", "--pid", "4242", "--memory", "1GiB"]);
    let gpu = facts.gpus[6].uuid.clone();
    watched.probe.read(gpu.clone()).await;
    let reading = watched.reading(&gpu).await;
    assert_eq!(
        reading.memory_used.map(|used| used >> 30),
        Some(41),
        "with that of the process"
    );
    assert_eq!(reading.utilization, Some(97));
    assert_eq!(
        (reading.power, reading.temperature),
        (Some(650_000), Some(71))
    );
    assert_eq!(reading.recovery, Some(RecoveryAction::NodeReboot));
    assert!(reading.remapped.unwrap().pending);
    let processes: Vec<_> = reading
        .processes
        .iter()
        .map(|it| (it.pid, it.memory))
        .collect();
    assert_eq!(processes, [(4242, Some(1 << 30))]);
}

#[tokio::test]
async fn one_look_finds_everything_and_leaves_nothing_behind() {
    let machine = Machine::new("h100x8");
    let look = gpu_probe::look(machine.settings(), Duration::from_secs(30)).await;
    assert_eq!(look.driver, DriverState::Ready);
    assert_eq!((look.machine.gpus.len(), look.readings.len()), (8, 8));
    assert!(look.troubles.is_empty());
}
