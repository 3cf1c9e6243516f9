#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::{Inventory, InventoryChange, Presence};
use crate::device::Device;
use crate::facts::{MachineFacts, MigFacts, SilentGpu};
use crate::fixtures::{hybrid_cube, mig_gpu, uuid};
use crate::ids::GpuUuid;

fn without(facts: &MachineFacts, gone: usize) -> MachineFacts {
    let mut facts = facts.clone();
    facts.gpus.remove(gone);
    facts
}

fn silent(index: u32, uuid: Option<GpuUuid>) -> SilentGpu {
    SilentGpu {
        index,
        uuid,
        fault: "GPU is lost".to_owned(),
    }
}

#[test]
fn gpus_come_go_fall_silent_and_return() {
    let all = hybrid_cube();
    let (inventory, changes) = Inventory::default().scanned(&all);
    assert_eq!(changes.len(), 8);
    assert_eq!((inventory.expected(), inventory.whole_gpus().len()), (8, 8));
    let gone = without(&all, 3);
    let (inventory, changes) = inventory.scanned(&gone);
    assert_eq!(changes, [InventoryChange::Vanished(uuid(3))]);
    assert_eq!((inventory.expected(), inventory.whole_gpus().len()), (8, 7));
    for name in [None, Some(uuid(3))] {
        let mut quiet = gone.clone();
        quiet.silent.push(silent(3, name));
        let (inventory, changes) = inventory.clone().scanned(&quiet);
        assert_eq!(changes, [InventoryChange::FellSilent(uuid(3))]);
        assert_eq!(inventory.expected(), 8);
        assert_eq!(
            inventory.gpu(&uuid(3)).unwrap().presence,
            Presence::Silent("GPU is lost".into())
        );
    }
    let (inventory, changes) = inventory.scanned(&all);
    assert_eq!(changes, [InventoryChange::Returned(uuid(3))]);
    assert_eq!(inventory.scanned(&all).1, []);
}

#[test]
fn a_gpu_that_never_told_its_name_is_expected_too() {
    let mut facts = without(&hybrid_cube(), 5);
    facts.silent.push(silent(5, None));
    let (inventory, _) = Inventory::default().scanned(&facts);
    assert_eq!((inventory.expected(), inventory.gpus().len()), (8, 7));
}

#[test]
fn after_a_restart_the_first_scan_tells_only_what_is_missing() {
    let all = hybrid_cube();
    let recalled = Inventory::recalled(all.gpus.iter().cloned());
    assert!(!recalled.is_scanned() && recalled.whole_gpus().is_empty());
    assert_eq!(recalled.expected(), 8);
    let (inventory, changes) = recalled.scanned(&without(&all, 0));
    assert_eq!(changes, []);
    assert_eq!(inventory.gpu(&uuid(0)).unwrap().presence, Presence::Missing);
}

#[test]
fn a_new_gpu_in_the_slot_replaces_the_old_one() {
    let all = hybrid_cube();
    let (inventory, _) = Inventory::default().scanned(&all);
    let mut swapped = all.clone();
    swapped.gpus[2].uuid = GpuUuid::new("GPU-new");
    let (inventory, changes) = inventory.scanned(&swapped);
    let new = GpuUuid::new("GPU-new");
    let replaced = InventoryChange::Replaced {
        old: uuid(2),
        new: new.clone(),
    };
    assert_eq!(changes, [replaced, InventoryChange::Added(new)]);
    assert_eq!(inventory.expected(), 8);
}

#[test]
fn a_gpu_in_mig_mode_is_not_a_whole_one() {
    let mut facts = hybrid_cube();
    facts.gpus[1] = mig_gpu(
        1,
        &[(2, 0, "1g.18gb"), (1, 0, "1g.18gb"), (3, 0, "2g.35gb")],
    );
    facts.gpus[4].mig = Some(MigFacts {
        pending: true,
        ..MigFacts::default()
    });
    facts.gpus[5].mig = Some(MigFacts::default());
    let (inventory, _) = Inventory::default().scanned(&facts);
    let whole = inventory.whole_gpus();
    let expected: Vec<GpuUuid> = [0, 2, 3, 5, 6, 7].map(uuid).to_vec();
    assert_eq!(whole.into_iter().collect::<Vec<_>>(), expected);
    let partitions = inventory.partitions();
    let device = |gi: u32| Device::partition(uuid(1), GpuUuid::new(format!("MIG-1-{gi}-0")));
    assert_eq!(partitions["1g.18gb"], [device(1), device(2)]);
    assert_eq!(partitions["2g.35gb"], [device(3)]);
}
