#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap
)]

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;

use super::{EXACT_LIMIT, select};
use crate::facts::{LinkPeer, MachineFacts, TopologyLevel};
use crate::fixtures::{
    bridged_pairs, gpu, hybrid_cube, lopsided, pci, plain_cards, switched, uuid,
};
use crate::ids::GpuUuid;
use crate::topology::Topology;

/// Scores by the table in the module's documentation, straight from the facts, over all bit sets.
struct Oracle {
    links: Vec<Vec<i64>>,
    distance: Vec<Vec<i64>>,
    crossing: Vec<Vec<i64>>,
}

impl Oracle {
    /// The fixtures' GPUs are in PCI order, so an index is a position.
    fn of(facts: &MachineFacts) -> Self {
        let n = facts.gpus.len();
        let table = |cell: &dyn Fn(usize, usize) -> i64| -> Vec<Vec<i64>> {
            (0..n)
                .map(|a| (0..n).map(|b| cell(a, b)).collect())
                .collect()
        };
        let count = |a: usize, peer: LinkPeer| {
            facts.gpus[a]
                .links
                .iter()
                .filter(|link| link.active && link.peer == peer)
                .count() as i64
        };
        let links = table(&|a, b| {
            let direct = count(a, LinkPeer::Gpu(facts.gpus[b].pci));
            let back = count(b, LinkPeer::Gpu(facts.gpus[a].pci));
            direct.min(back) + count(a, LinkPeer::Switch).min(count(b, LinkPeer::Switch))
        });
        let level = |a: usize, b: usize| match facts.levels.get(a).and_then(|row| row.get(b)) {
            Some(TopologyLevel::Internal) => 0,
            Some(TopologyLevel::SingleSwitch) => 1,
            Some(TopologyLevel::MultipleSwitches) => 2,
            Some(TopologyLevel::HostBridge) => 3,
            Some(TopologyLevel::Node) => 4,
            Some(TopologyLevel::System) | None => 5,
        };
        let distance = table(&|a, b| level(a, b).max(level(b, a)));
        let crossing = table(&|a, b| i64::from(facts.gpus[a].numa != facts.gpus[b].numa));
        Self {
            links,
            distance,
            crossing,
        }
    }

    fn sum(table: &[Vec<i64>], set: u32) -> i64 {
        let has = |n: usize| set >> n & 1 == 1;
        let n = table.len();
        let pairs = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b)));
        pairs
            .filter(|(a, b)| has(*a) && has(*b))
            .map(|(a, b)| table[a][b])
            .sum()
    }

    fn islands(&self, set: u32) -> i64 {
        let n = self.links.len();
        let mut name: Vec<usize> = (0..n).collect();
        for _ in 0..n {
            for a in (0..n).filter(|a| set >> a & 1 == 1) {
                for b in (0..n).filter(|b| set >> b & 1 == 1) {
                    if a != b && self.links[a][b] > 0 {
                        name[a] = name[a].min(name[b]);
                    }
                }
            }
        }
        (0..n)
            .filter(|a| set >> a & 1 == 1 && name[*a] == *a)
            .count() as i64
    }

    fn best(&self, free: u32, required: u32, count: u32) -> Option<Vec<usize>> {
        let n = self.links.len();
        let legal = |set: &u32| {
            set.count_ones() == count && set & required == required && set & !(free | required) == 0
        };
        let key = |set: &u32| {
            let left = free & !set;
            let members: Vec<usize> = (0..n).filter(|n| set >> n & 1 == 1).collect();
            (
                [self.islands(*set), -Self::sum(&self.links, *set)],
                [
                    Self::sum(&self.distance, *set),
                    Self::sum(&self.crossing, *set),
                ],
                -Self::sum(&self.links, left),
                [
                    Self::sum(&self.distance, left),
                    Self::sum(&self.crossing, left),
                ],
                members,
            )
        };
        (0..1_u32 << n)
            .filter(legal)
            .map(|set| key(&set))
            .min()
            .map(|(.., members)| members)
    }
}

fn members(set: u32) -> BTreeSet<GpuUuid> {
    (0..32).filter(|n| set >> n & 1 == 1).map(uuid).collect()
}

fn chosen(facts: &MachineFacts, free: u32, required: u32, count: u32) -> Option<Vec<usize>> {
    let topology = Topology::of(facts);
    let choice = select(
        &topology,
        &members(free),
        &members(required),
        count as usize,
    )?;
    Some(
        choice
            .gpus
            .iter()
            .map(|gpu| topology.position(gpu).unwrap())
            .collect(),
    )
}

#[test]
fn every_choice_on_every_machine_is_the_oracles() {
    let machines = [
        switched(8),
        bridged_pairs(),
        hybrid_cube(),
        lopsided(),
        plain_cards(),
        switched(2),
    ];
    for facts in machines {
        let oracle = Oracle::of(&facts);
        let n = facts.gpus.len() as u32;
        for free in 0..1_u32 << n {
            for count in 0..=n {
                let (expected, got) = (oracle.best(free, 0, count), chosen(&facts, free, 0, count));
                assert_eq!(got, expected, "free {free:b} count {count}");
            }
        }
    }
}

#[test]
fn known_answers() {
    let check = |facts: &MachineFacts, free: &[usize], count: u32, expected: &[usize]| {
        let free = free.iter().fold(0, |set, n| set | 1 << n);
        assert_eq!(
            chosen(facts, free, 0, count).unwrap(),
            expected,
            "free {free:b} count {count}"
        );
    };
    let all = [0, 1, 2, 3, 4, 5, 6, 7];
    // A double link behind one PCIe switch, then a quad, then both quads.
    check(&hybrid_cube(), &all, 2, &[2, 3]);
    check(&hybrid_cube(), &all, 4, &[0, 1, 2, 3]);
    check(&hybrid_cube(), &[0, 1, 4, 5], 2, &[0, 4]);
    // A card without its partner goes first, so that pairs stay whole.
    check(&bridged_pairs(), &[0, 1, 2], 1, &[2]);
    check(&bridged_pairs(), &[0, 2, 3], 2, &[2, 3]);
    // Behind switches all links are equal: the smaller group of near GPUs goes first.
    check(&switched(8), &[0, 1, 2, 3, 6, 7], 1, &[6]);
    check(&switched(8), &[0, 1, 2, 3, 6, 7], 2, &[6, 7]);
    check(&switched(8), &[0, 1, 2, 3, 6, 7], 3, &[0, 1, 2]);
    // Without any NVLink: one PCIe switch, then one NUMA node.
    check(&plain_cards(), &[1, 2, 3, 6], 2, &[2, 3]);
    check(&plain_cards(), &[1, 3, 6], 2, &[1, 3]);
}

#[test]
fn what_is_required_is_in_the_set_and_what_cannot_be_gives_nothing() {
    let facts = hybrid_cube();
    let oracle = Oracle::of(&facts);
    for required in [0b1, 0b1000_0001, 0b0110_0000] {
        let free = 0xff & !required;
        for count in 0..=8 {
            assert_eq!(
                chosen(&facts, free, required, count),
                oracle.best(free, required, count)
            );
        }
    }
    let topology = Topology::of(&facts);
    let stranger = BTreeSet::from([uuid(99)]);
    assert!(select(&topology, &stranger, &BTreeSet::new(), 1).is_none());
    assert!(select(&topology, &members(0xff), &BTreeSet::new(), 9).is_none());
    assert!(select(&Topology::default(), &BTreeSet::new(), &BTreeSet::new(), 1).is_none());
}

#[test]
fn order_of_the_scan_does_not_matter() {
    let facts = hybrid_cube();
    let mut turned = facts.clone();
    turned.gpus.reverse();
    turned.levels.reverse();
    turned.levels.iter_mut().for_each(|row| row.reverse());
    for free in [0b1111_1111, 0b1011_0110, 0b0101_1100] {
        for count in 1..=4 {
            assert_eq!(
                chosen(&facts, free, 0, count),
                chosen(&turned, free, 0, count)
            );
        }
    }
}

#[test]
fn sixteen_gpus_are_exact_and_fast() {
    let topology = Topology::of(&switched(16));
    #[expect(clippy::disallowed_types, reason = "the limit is on the time it takes")]
    let start = std::time::Instant::now();
    let choice = select(&topology, &members(0xffff), &BTreeSet::new(), 8).unwrap();
    let took = start.elapsed();
    assert_eq!(choice.gpus, (0..8).map(uuid).collect::<Vec<_>>());
    assert_eq!((choice.compared, choice.exact), (EXACT_LIMIT, true));
    // The limit is that of an optimised build; an unoptimised one is some thirty times slower.
    let limit = if cfg!(debug_assertions) { 500 } else { 10 };
    assert!(took < Duration::from_millis(limit), "{took:?}");
}

#[test]
fn larger_machines_get_a_good_set_in_bounded_time() {
    // Four islands of sixteen, as four switched boards in one system would be.
    let board = |n: usize| pci(100 + n / 16);
    let gpus = (0..64)
        .map(|n| gpu(n, Some(0), &[(LinkPeer::Gpu(board(n)), 1)]))
        .collect();
    let mut facts = MachineFacts {
        gpus,
        ..MachineFacts::default()
    };
    for n in 0..64 {
        let peers = (0..64).filter(|p| p / 16 == n / 16 && *p != n);
        let links: Vec<_> = peers.map(|p| (LinkPeer::Gpu(pci(p)), 1)).collect();
        facts.gpus[n] = gpu(n, Some(0), &links);
    }
    let topology = Topology::of(&facts);
    let free: BTreeSet<_> = (4..64).map(uuid).collect();
    let choice = select(&topology, &free, &BTreeSet::new(), 16).unwrap();
    assert!(!choice.exact && choice.compared <= 60);
    assert_eq!(choice.gpus, (16..32).map(uuid).collect::<Vec<_>>());
    assert_eq!(
        select(&topology, &free, &BTreeSet::new(), 16).unwrap(),
        choice
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_wiring_gives_the_oracles_set(
        links in prop::collection::vec(prop::collection::vec(0_usize..4, 7), 7),
        levels in prop::collection::vec(prop::collection::vec(0_usize..6, 0..8), 0..8),
        numa in prop::collection::vec(prop::option::of(0_u32..3), 7),
        free in 0_u32..128,
        count in 1_u32..5,
    ) {
        const LEVELS: [TopologyLevel; 6] = [
            TopologyLevel::Internal, TopologyLevel::SingleSwitch, TopologyLevel::MultipleSwitches,
            TopologyLevel::HostBridge, TopologyLevel::Node, TopologyLevel::System,
        ];
        let mut facts = crate::fixtures::machine(&links, |n| numa[n], |_, _| TopologyLevel::System);
        facts.levels = levels.iter().map(|r| r.iter().map(|l| LEVELS[*l]).collect()).collect();
        prop_assert_eq!(chosen(&facts, free, 0, count), Oracle::of(&facts).best(free, 0, count));
    }
}
