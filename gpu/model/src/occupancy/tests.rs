#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{Holding, Occupancy, OccupancyChange, OccupancyEvent, Owner, OwnerId, Share};
use crate::device::Device;
use crate::fixtures::uuid;
use crate::ids::GpuUuid;
use crate::time::Time;

fn owner(n: usize) -> Owner {
    Owner {
        id: OwnerId(format!("uid-{n}")),
        name: format!("default/pod-{n}"),
    }
}

fn holding(n: usize, shares: Vec<(bool, Vec<Device>)>) -> Holding {
    let share = |(at, (reusable, devices))| Share {
        container: format!("container-{at}"),
        reusable,
        devices,
    };
    let shares = shares.into_iter().enumerate().map(share).collect();
    Holding {
        owner: owner(n),
        shares,
        since: Time(0),
    }
}

fn gpu(n: usize) -> Device {
    Device::whole(uuid(n))
}

fn slice(n: usize, slice: usize) -> Device {
    Device::partition(uuid(n), GpuUuid::new(format!("MIG-{n}-{slice}")))
}

#[test]
fn a_gpu_and_a_part_of_it_exclude_each_other() {
    let book = Occupancy::default();
    let (book, _) = book.apply(OccupancyEvent::Held(holding(
        0,
        vec![(false, vec![slice(0, 1)])],
    )));
    for (device, free) in [
        (gpu(0), false),
        (slice(0, 1), false),
        (slice(0, 2), true),
        (gpu(1), true),
    ] {
        let event = OccupancyEvent::Held(holding(1, vec![(false, vec![device.clone()])]));
        let (_, changes) = book.clone().apply(event);
        let expected = if free {
            OccupancyChange::Taken(device, owner(1))
        } else {
            OccupancyChange::Refused(device, owner(0))
        };
        assert_eq!(changes, [expected]);
    }
}

#[test]
fn containers_of_one_owner_share_only_with_init_containers() {
    let shared = |reusable| holding(0, vec![(reusable, vec![gpu(0)]), (false, vec![gpu(0)])]);
    let (book, _) = Occupancy::default().apply(OccupancyEvent::Held(shared(true)));
    assert_eq!(book.holdings().len(), 1);
    let (book, changes) = Occupancy::default().apply(OccupancyEvent::Held(shared(false)));
    assert_eq!(changes, [OccupancyChange::Refused(gpu(0), owner(0))]);
    assert!(book.holdings().is_empty());
}

#[test]
fn a_device_that_two_were_found_using_is_free_when_both_are_gone() {
    let found = |n| OccupancyEvent::Found(holding(n, vec![(false, vec![gpu(0)])]));
    let (book, _) = Occupancy::default().apply(found(0));
    let (book, changes) = book.apply(found(1));
    assert!(matches!(
        changes.as_slice(),
        [OccupancyChange::Contested(..)]
    ));
    assert_eq!(book.contests().len(), 1);
    let (book, changes) = book.apply(OccupancyEvent::Released(owner(0).id));
    assert_eq!(changes, []);
    assert_eq!(book.holder(&gpu(0)).unwrap().owner, owner(1));
    let (book, changes) = book.apply(OccupancyEvent::Released(owner(1).id));
    assert_eq!(changes, [OccupancyChange::Freed(gpu(0))]);
    assert!(book.holder(&gpu(0)).is_none() && book.contests().is_empty());
}

#[test]
fn what_is_found_completes_a_known_owner_and_changes_nothing_it_has() {
    let held = holding(0, vec![(false, vec![gpu(0)])]);
    let (book, _) = Occupancy::default().apply(OccupancyEvent::Held(held.clone()));
    let found = holding(0, vec![(false, vec![gpu(5)]), (false, vec![gpu(1)])]);
    let (book, changes) = book.apply(OccupancyEvent::Found(found));
    assert_eq!(changes, [OccupancyChange::Taken(gpu(1), owner(0))]);
    let kept = book.holding(&owner(0).id).unwrap();
    assert_eq!(kept.devices(), BTreeSet::from([gpu(0), gpu(1)]));
    assert_eq!(kept.shares.first(), held.shares.first());
}

#[derive(Clone, Debug)]
enum Step {
    Held(usize, Vec<(bool, Vec<Device>)>),
    Found(usize, Vec<(bool, Vec<Device>)>),
    Released(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let device = (0_usize..4, prop::option::of(0_usize..2))
        .prop_map(|(n, part)| part.map_or_else(|| gpu(n), |part| slice(n, part)));
    let share = (any::<bool>(), prop::collection::vec(device, 0..3));
    let shares = prop::collection::vec(share, 0..3);
    let step = prop_oneof![
        4 => (0_usize..4, shares.clone()).prop_map(|(n, shares)| Step::Held(n, shares)),
        1 => (0_usize..4, shares).prop_map(|(n, shares)| Step::Found(n, shares)),
        3 => (0_usize..4).prop_map(Step::Released),
    ];
    prop::collection::vec(step, 0..40)
}

proptest! {
    #[test]
    fn one_device_never_has_two_holders(steps in steps()) {
        let mut book = Occupancy::default();
        // Kept by the test from the changes alone: the book must tell everything it does.
        let mut told: BTreeMap<Device, Owner> = BTreeMap::new();
        let mut anything_found = false;
        for step in steps {
            let before = book.clone();
            let event = match step {
                Step::Held(n, shares) => OccupancyEvent::Held(holding(n, shares)),
                Step::Found(n, shares) => {
                    anything_found = true;
                    OccupancyEvent::Found(holding(n, shares))
                }
                Step::Released(n) => OccupancyEvent::Released(owner(n).id),
            };
            let held = matches!(event, OccupancyEvent::Held(_));
            let (after, changes) = book.apply(event);
            for change in &changes {
                match change {
                    OccupancyChange::Taken(device, owner) => {
                        if held {
                            let others = before.holdings().iter().filter(|h| h.owner != *owner);
                            let taken = others.into_iter().any(|h| h.devices().iter().any(|d| d.overlaps(device)));
                            prop_assert!(!taken, "{device:?} was taken from its holder");
                        }
                        told.insert(device.clone(), owner.clone());
                    }
                    OccupancyChange::Freed(device) => {
                        told.remove(device);
                        prop_assert!(after.holder(device).is_none() || held);
                    }
                    OccupancyChange::Refused(..) => prop_assert_eq!(&after, &before),
                    OccupancyChange::Contested(..) => prop_assert!(!held),
                }
            }
            if !anything_found {
                prop_assert!(after.contests().is_empty());
                let listed: Vec<Device> =
                    after.holdings().iter().flat_map(|holding| holding.devices()).collect();
                for (at, device) in listed.iter().enumerate() {
                    let rest = listed.iter().skip(at + 1);
                    let clash = rest.clone().any(|other| {
                        other.overlaps(device) && after.holder(other).unwrap() != after.holder(device).unwrap()
                    });
                    prop_assert!(!clash, "{device:?} has two holders");
                }
                prop_assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), told.keys().cloned().collect());
            }
            book = after;
        }
    }
}
