#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};

use super::{Allotment, Ask, Shortage, Stock, allot, demand};
use crate::device::{Device, DeviceKind};
use crate::fixtures::{hybrid_cube, uuid};
use crate::ids::GpuUuid;
use crate::topology::Topology;

/// `i2` is a plain init container that asks for two GPUs, `s1` a sidecar, `m4` a main container.
fn asks(text: &str) -> Vec<Ask> {
    let ask = |(n, word): (usize, &str)| Ask {
        container: format!("{word}-{n}"),
        reusable: word.starts_with('i'),
        kind: DeviceKind::Gpu,
        count: word[1..].parse().unwrap(),
    };
    text.split_whitespace().enumerate().map(ask).collect()
}

fn stock(free: impl IntoIterator<Item = usize>) -> Stock {
    Stock {
        topology: Topology::of(&hybrid_cube()),
        gpus: free.into_iter().map(uuid).collect(),
        partitions: BTreeMap::new(),
    }
}

fn whole(gpus: &[usize]) -> Vec<Device> {
    gpus.iter().map(|n| Device::whole(uuid(*n))).collect()
}

fn given(allotments: &[Allotment]) -> Vec<Vec<Device>> {
    allotments
        .iter()
        .map(|allotment| allotment.devices.clone())
        .collect()
}

#[test]
fn containers_share_only_what_init_containers_leave() {
    for (text, free, expected) in [
        ("m4", 8, vec![vec![0, 1, 2, 3]]),
        // The larger one chooses first; a single one then takes what breaks least.
        ("m1 m4", 8, vec![vec![4], vec![0, 1, 2, 3]]),
        ("i2 m4", 4, vec![vec![2, 3], vec![0, 1, 2, 3]]),
        ("i4 m2", 4, vec![vec![0, 1, 2, 3], vec![2, 3]]),
        ("i1 i1 m1", 1, vec![vec![0], vec![0], vec![0]]),
        ("s1 i2 m1", 3, vec![vec![0], vec![1, 2], vec![1]]),
        ("i1 s1 m1", 2, vec![vec![0], vec![0], vec![1]]),
        ("m0", 0, vec![vec![]]),
    ] {
        let asks = asks(text);
        let allotments = allot(stock(0..free), &asks, &[]).unwrap();
        let got = given(&allotments);
        let sizes: Vec<usize> = got.iter().map(Vec::len).collect();
        assert_eq!(
            sizes,
            asks.iter().map(|ask| ask.count).collect::<Vec<_>>(),
            "{text}"
        );
        let all: BTreeSet<_> = got.iter().flatten().collect();
        assert_eq!(all.len(), demand(&asks, &DeviceKind::Gpu), "{text}");
        if free >= 4 {
            let expected: Vec<_> = expected.iter().map(|gpus| whole(gpus)).collect();
            assert_eq!(got, expected, "{text}");
        }
    }
}

#[test]
fn one_too_few_is_a_shortage_of_the_whole_pod() {
    for (text, needed) in [("m2 m1", 3), ("i4 m2", 4), ("s1 i2 m1", 3), ("i1 i3 m2", 3)] {
        let shortage = Shortage {
            kind: DeviceKind::Gpu,
            needed,
        };
        assert_eq!(
            allot(stock(0..needed - 1), &asks(text), &[]),
            Err(shortage),
            "{text}"
        );
        assert!(allot(stock(0..needed), &asks(text), &[]).is_ok(), "{text}");
    }
}

#[test]
fn what_a_container_has_it_keeps() {
    let kept = [whole(&[5, 6]), Vec::new()];
    let got = given(&allot(stock([0, 1, 2, 7]), &asks("i2 m3"), &kept).unwrap());
    assert_eq!(got[0], kept[0]);
    assert!(got[1].len() == 3 && whole(&[5, 6]).iter().all(|device| got[1].contains(device)));
    let kept = [whole(&[5]), Vec::new()];
    let got = given(&allot(stock([0, 1]), &asks("m1 m1"), &kept).unwrap());
    assert!(!got[1].contains(&got[0][0]));
}

#[test]
fn mig_devices_are_given_in_order_and_reused_too() {
    let device = |n: usize| Device::partition(uuid(0), GpuUuid::new(format!("MIG-{n}")));
    let kind = DeviceKind::Partition("1g.18gb".to_owned());
    let free = vec![device(0), device(1), device(2)];
    let stock = Stock {
        partitions: BTreeMap::from([("1g.18gb".to_owned(), free)]),
        ..Stock::default()
    };
    let ask = |container: &str, reusable, count| Ask {
        container: container.to_owned(),
        reusable,
        kind: kind.clone(),
        count,
    };
    let asks = [ask("init", true, 3), ask("main", false, 2)];
    let got = given(&allot(stock.clone(), &asks, &[]).unwrap());
    assert_eq!(
        got,
        [
            vec![device(0), device(1), device(2)],
            vec![device(0), device(1)]
        ]
    );
    let asks = [ask("main", false, 4)];
    assert_eq!(allot(stock, &asks, &[]), Err(Shortage { kind, needed: 4 }));
}
