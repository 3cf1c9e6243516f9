//! Machines to test with, built by hand.

use crate::facts::{GpuFacts, LinkPeer, MachineFacts, MigDevice, MigFacts, NvLink, TopologyLevel};
use crate::ids::{GpuUuid, PciAddress};

pub(crate) fn uuid(n: usize) -> GpuUuid {
    GpuUuid::new(format!("GPU-{n:04}"))
}

pub(crate) fn pci(n: usize) -> PciAddress {
    PciAddress {
        domain: 0,
        bus: u8::try_from(n).unwrap_or(255),
        device: 0,
        function: 0,
    }
}

/// GPU `n` with its NVLinks: how many to which peer.
pub(crate) fn gpu(n: usize, numa: Option<u32>, links: &[(LinkPeer, usize)]) -> GpuFacts {
    let peers = links
        .iter()
        .flat_map(|(peer, count)| std::iter::repeat_n(*peer, *count));
    let number = |n: u32, peer| NvLink {
        number: n,
        active: true,
        peer,
    };
    GpuFacts {
        uuid: uuid(n),
        index: u32::try_from(n).unwrap_or(0),
        minor: u32::try_from(n).unwrap_or(0),
        name: "NVIDIA Test".to_owned(),
        serial: None,
        pci: pci(n),
        numa,
        cpus: String::new(),
        memory: 1 << 30,
        compute: (9, 0),
        architecture: "hopper".to_owned(),
        ecc: Some(true),
        links: (0..).zip(peers).map(|(n, peer)| number(n, peer)).collect(),
        mig: None,
        fabric: None,
    }
}

/// A GPU in MIG mode with these instances: GPU instance, compute instance, profile.
pub(crate) fn mig_gpu(n: usize, devices: &[(u32, u32, &str)]) -> GpuFacts {
    let device = |(gi, ci, profile): &(u32, u32, &str)| MigDevice {
        uuid: GpuUuid::new(format!("MIG-{n}-{gi}-{ci}")),
        gpu_instance: *gi,
        compute_instance: *ci,
        profile: (*profile).to_owned(),
        memory: 1 << 30,
    };
    let devices = devices.iter().map(device).collect();
    let mig = MigFacts {
        enabled: true,
        pending: true,
        devices,
        ..MigFacts::default()
    };
    GpuFacts {
        mig: Some(mig),
        ..gpu(n, None, &[])
    }
}

/// A machine from a matrix of direct links and a rule for PCIe levels.
pub(crate) fn machine(
    links: &[Vec<usize>],
    numa: impl Fn(usize) -> Option<u32>,
    level: impl Fn(usize, usize) -> TopologyLevel,
) -> MachineFacts {
    let peers = |row: &Vec<usize>| -> Vec<(LinkPeer, usize)> {
        row.iter()
            .enumerate()
            .map(|(to, count)| (LinkPeer::Gpu(pci(to)), *count))
            .collect()
    };
    let gpus = links
        .iter()
        .enumerate()
        .map(|(n, row)| gpu(n, numa(n), &peers(row)))
        .collect();
    let row = |a| (0..links.len()).map(|b| level(a, b)).collect();
    let levels = (0..links.len()).map(row).collect();
    MachineFacts {
        gpus,
        levels,
        ..MachineFacts::default()
    }
}

fn halves(a: usize, b: usize, half: usize) -> TopologyLevel {
    match (a == b, a / half == b / half) {
        (true, _) => TopologyLevel::Internal,
        (false, true) => TopologyLevel::Node,
        (false, false) => TopologyLevel::System,
    }
}

/// `count` GPUs behind NVSwitches on two NUMA nodes, as in an HGX board.
pub(crate) fn switched(count: usize) -> MachineFacts {
    let numa = |n: usize| u32::try_from(n / (count / 2)).ok();
    let gpus = (0..count)
        .map(|n| gpu(n, numa(n), &[(LinkPeer::Switch, 18)]))
        .collect();
    let row = |a| (0..count).map(|b| halves(a, b, count / 2)).collect();
    MachineFacts {
        gpus,
        levels: (0..count).map(row).collect(),
        ..MachineFacts::default()
    }
}

/// Four A100 PCIe cards, bridged in pairs, one pair a NUMA node.
pub(crate) fn bridged_pairs() -> MachineFacts {
    let mut links = vec![vec![0; 4]; 4];
    for (a, b) in [(0, 1), (1, 0), (2, 3), (3, 2)] {
        links[a][b] = 12;
    }
    machine(
        &links,
        |n| u32::try_from(n / 2).ok(),
        |a, b| halves(a, b, 2),
    )
}

/// Eight V100 in the hybrid cube mesh of a DGX-1.
pub(crate) fn hybrid_cube() -> MachineFacts {
    let links = [
        [0, 1, 1, 2, 2, 0, 0, 0],
        [1, 0, 2, 1, 0, 2, 0, 0],
        [1, 2, 0, 2, 0, 0, 1, 0],
        [2, 1, 2, 0, 0, 0, 0, 1],
        [2, 0, 0, 0, 0, 1, 1, 2],
        [0, 2, 0, 0, 1, 0, 2, 1],
        [0, 0, 1, 0, 1, 2, 0, 2],
        [0, 0, 0, 1, 2, 1, 2, 0],
    ];
    let links: Vec<Vec<usize>> = links.iter().map(|row| row.to_vec()).collect();
    let level = |a: usize, b: usize| match (a == b, a / 2 == b / 2, a / 4 == b / 4) {
        (true, ..) => TopologyLevel::Internal,
        (_, true, _) => TopologyLevel::SingleSwitch,
        (_, _, true) => TopologyLevel::HostBridge,
        _ => TopologyLevel::System,
    };
    machine(&links, |n| u32::try_from(n / 4).ok(), level)
}

/// Six GPUs whose links look different from both ends, with a level table that has holes.
pub(crate) fn lopsided() -> MachineFacts {
    let links = [
        [0, 4, 0, 0, 0, 0],
        [2, 0, 3, 0, 0, 0],
        [0, 3, 0, 3, 0, 1],
        [0, 0, 0, 0, 2, 0],
        [0, 0, 0, 2, 0, 5],
        [0, 0, 1, 0, 1, 0],
    ];
    let links: Vec<Vec<usize>> = links.iter().map(|row| row.to_vec()).collect();
    let numa = |n: usize| (n != 3).then_some(0);
    let mut facts = machine(&links, numa, |a, b| {
        if a < b {
            TopologyLevel::SingleSwitch
        } else {
            TopologyLevel::MultipleSwitches
        }
    });
    facts.levels.truncate(5);
    facts.levels[1].truncate(2);
    facts
}

/// Eight cards without NVLink behind four PCIe switches on two NUMA nodes.
pub(crate) fn plain_cards() -> MachineFacts {
    let mut facts = hybrid_cube();
    facts.gpus.iter_mut().for_each(|gpu| gpu.links.clear());
    facts
}
