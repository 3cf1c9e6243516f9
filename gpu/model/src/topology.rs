//! How the GPUs of a machine are wired, pair by pair.

use std::collections::BTreeMap;
use std::fmt;

use crate::facts::{GpuFacts, LinkPeer, MachineFacts, TopologyLevel};
use crate::ids::GpuUuid;

/// Wiring of all GPUs that a scan could read. Positions count GPUs by PCI address (then UUID), so
/// they do not depend on NVML's order, which may change over a reboot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    gpus: Vec<GpuUuid>,
    pairs: Vec<Vec<Pair>>,
}

/// How two different GPUs are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// NVLinks that both ends report as up: direct ones, plus those into NVSwitches, which join all
    /// GPUs alike. Where the two ends report different numbers, the smaller one.
    pub links: u32,
    /// Closest common ancestor on the PCI tree. Where the two directions differ, the farther one.
    pub level: TopologyLevel,
    /// Both have the same NUMA node. Two GPUs that tell none count as the same.
    pub same_numa: bool,
}

/// As `nvidia-smi topo -m` writes it: `NV18` where NVLinks join the two, else the level.
impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.links {
            0 => f.write_str(self.level.as_str()),
            links => write!(f, "NV{links}"),
        }
    }
}

impl TopologyLevel {
    /// As `nvidia-smi topo -m` writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            // One board has one switch.
            Self::Internal | Self::SingleSwitch => "PIX",
            Self::MultipleSwitches => "PXB",
            Self::HostBridge => "PHB",
            Self::Node => "NODE",
            Self::System => "SYS",
        }
    }
}

impl Topology {
    /// Reads the wiring out of one scan. Missing, short or contradicting tables make a pair look
    /// farther apart, never an error.
    pub fn of(facts: &MachineFacts) -> Self {
        let mut order: Vec<usize> = (0..facts.gpus.len()).collect();
        order.sort_by_key(|at| facts.gpus.get(*at).map(|gpu| (gpu.pci, gpu.uuid.clone())));
        let links: Vec<Links> = facts.gpus.iter().map(Links::of).collect();
        let pair = |a: usize, b: usize| -> Option<Pair> {
            let (first, second) = (facts.gpus.get(a)?, facts.gpus.get(b)?);
            let (from, to) = (links.get(a)?, links.get(b)?);
            Some(Pair {
                links: from.joined(first, to, second),
                level: level(facts, a, b).max(level(facts, b, a)),
                same_numa: first.numa == second.numa,
            })
        };
        let row = |a: &usize| order.iter().filter_map(|b| pair(*a, *b)).collect();
        Self {
            gpus: order
                .iter()
                .filter_map(|at| Some(facts.gpus.get(*at)?.uuid.clone()))
                .collect(),
            pairs: order.iter().map(row).collect(),
        }
    }

    /// All GPUs by position.
    pub fn gpus(&self) -> &[GpuUuid] {
        &self.gpus
    }

    /// Position of a GPU.
    pub fn position(&self, gpu: &GpuUuid) -> Option<usize> {
        self.gpus.iter().position(|other| other == gpu)
    }

    /// How the GPUs at two positions are joined; `None` outside the table.
    pub fn pair(&self, a: usize, b: usize) -> Option<Pair> {
        self.pairs.get(a)?.get(b).copied()
    }
}

/// Active NVLinks of one GPU, counted by where they go.
struct Links {
    direct: BTreeMap<crate::ids::PciAddress, u32>,
    switch: u32,
}

impl Links {
    fn of(gpu: &GpuFacts) -> Self {
        let mut links = Self {
            direct: BTreeMap::new(),
            switch: 0,
        };
        for link in gpu.links.iter().filter(|link| link.active) {
            match link.peer {
                LinkPeer::Gpu(peer) => *links.direct.entry(peer).or_default() += 1,
                LinkPeer::Switch => links.switch += 1,
                LinkPeer::Other => {}
            }
        }
        links
    }

    fn joined(&self, own: &GpuFacts, other: &Self, peer: &GpuFacts) -> u32 {
        let there = self.direct.get(&peer.pci).copied().unwrap_or(0);
        let back = other.direct.get(&own.pci).copied().unwrap_or(0);
        there.min(back) + self.switch.min(other.switch)
    }
}

fn level(facts: &MachineFacts, a: usize, b: usize) -> TopologyLevel {
    facts
        .levels
        .get(a)
        .and_then(|row| row.get(b))
        .copied()
        .unwrap_or_default()
}
