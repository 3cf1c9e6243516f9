//! MIG arithmetic on the table of the H200.

use super::*;
use crate::code::{INSUFFICIENT_RESOURCES, INVALID_ARGUMENT};
use crate::profile::Profile;

/// Profile ids of the table.
const ONE: u32 = 19;
const ONE_MEDIA: u32 = 20;
const ONE_DOUBLE: u32 = 15;
const TWO: u32 = 14;
const THREE: u32 = 9;
const FOUR: u32 = 5;
const SEVEN: u32 = 0;

fn table() -> Vec<MigProfile> {
    let machine = Profile::named("h200x8").and_then(|profile| profile.machine("h200x8", 0));
    machine.expect("a built-in profile").mig_profiles
}

fn profile(table: &[MigProfile], id: u32) -> &MigProfile {
    table
        .iter()
        .find(|profile| profile.id == id)
        .expect("in the table")
}

fn create(mig: &mut Mig, ids: &[u32]) -> Vec<(u32, u32)> {
    let table = table();
    for id in ids {
        create_instance(mig, &table, *id, None)
            .unwrap_or_else(|code| panic!("profile {id}: {code:?}"));
    }
    mig.instances
        .iter()
        .map(|instance| (instance.id, instance.start))
        .collect()
}

#[test]
fn an_empty_gpu_takes_as_many_as_the_table_says() {
    let table = table();
    for profile in &table {
        assert_eq!(
            remaining(&Mig::default(), profile),
            profile.instances,
            "{}",
            profile.name
        );
    }
}

#[test]
fn seven_single_slices_fit_with_ids_7_to_13() {
    let mut mig = Mig::default();
    let mut created = create(&mut mig, &[ONE; 7]);
    created.sort_unstable();
    let expected: Vec<(u32, u32)> = (0..7).map(|start| (7 + start, start)).collect();
    assert_eq!(created, expected);
    let full = create_instance(&mut mig, &table(), ONE, None);
    assert_eq!(full, Err(INSUFFICIENT_RESOURCES));
    assert_eq!(remaining(&mig, profile(&table(), TWO)), 0);
}

#[test]
fn mixed_layouts_fit_as_documented() {
    let layouts: [&[u32]; 8] = [
        &[FOUR, THREE],
        &[THREE, THREE],
        &[FOUR, TWO, ONE],
        &[THREE, TWO, TWO],
        &[TWO, TWO, TWO, ONE],
        &[ONE_DOUBLE; 4],
        &[ONE_MEDIA, ONE, ONE, FOUR],
        &[SEVEN],
    ];
    for layout in layouts {
        let mut mig = Mig::default();
        create(&mut mig, layout);
        let places: Vec<Placement> = mig.instances.iter().map(place_of).collect();
        for (index, place) in places.iter().enumerate() {
            let overlap = places
                .iter()
                .skip(index + 1)
                .any(|other| other.overlaps(*place));
            assert!(!overlap, "{layout:?}: {places:?}");
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let table = table();
    for layout in [&[FOUR, FOUR], &[SEVEN, ONE], &[ONE_MEDIA, ONE_MEDIA]] {
        let mut mig = Mig::default();
        create(&mut mig, &layout[..1]);
        let second = create_instance(&mut mig, &table, layout[1], None);
        assert_eq!(second, Err(INSUFFICIENT_RESOURCES), "{layout:?}");
    }
    let mut mig = Mig::default();
    assert_eq!(
        create_instance(&mut mig, &table, 77, None),
        Err(INVALID_ARGUMENT)
    );
    let odd = Placement { start: 1, size: 2 };
    assert_eq!(
        create_instance(&mut mig, &table, TWO, Some(odd)),
        Err(INVALID_ARGUMENT)
    );
}

#[test]
fn a_placement_is_kept_and_a_free_choice_leaves_most_room() {
    let table = table();
    let mut mig = Mig::default();
    let wanted = Placement { start: 2, size: 1 };
    create_instance(&mut mig, &table, ONE, Some(wanted)).expect("free");
    assert_eq!(mig.instances.first().map(place_of), Some(wanted));
    let taken = create_instance(&mut mig, &table, ONE, Some(wanted));
    assert_eq!(taken, Err(INSUFFICIENT_RESOURCES));
    // A single slice goes where it blocks no two-slice placement, so that a 4g and a 2g still fit.
    let mut mig = Mig::default();
    assert_eq!(create(&mut mig, &[ONE]), [(13, 6)]);
    assert_eq!(remaining(&mig, profile(&table, FOUR)), 1);
    assert_eq!(remaining(&mig, profile(&table, TWO)), 3);
}

#[test]
fn destroyed_ids_come_back_but_serials_and_uuids_do_not() {
    let table = table();
    let mut mig = Mig::default();
    let mut seen = Vec::new();
    for _ in 0..3 {
        let serial = create_instance(&mut mig, &table, SEVEN, None).expect("free");
        let compute = create_compute(&mut mig, &table, "GPU-x", serial, 4, None).expect("free");
        let instance = mig.instances.pop().expect("just created");
        let uuid = instance
            .compute
            .first()
            .map(|one| one.uuid.to_string())
            .unwrap_or_default();
        assert_eq!(instance.id, 0);
        assert!(uuid.starts_with("MIG-") && !seen.contains(&uuid));
        assert!(compute > serial);
        seen.push(uuid);
    }
}

#[test]
fn compute_instances_share_the_slices_of_their_gpu_instance() {
    let table = table();
    let mut mig = Mig::default();
    let serial = create_instance(&mut mig, &table, THREE, None).expect("free");
    let three = profile(&table, THREE);
    create_compute(&mut mig, &table, "GPU-x", serial, 1, None).expect("two of three slices");
    let instance = mig.instances.first().expect("just created").clone();
    assert_eq!(compute_remaining(&instance, three, 0), Some(1));
    assert_eq!(compute_remaining(&instance, three, 1), Some(0));
    assert_eq!(
        compute_remaining(&instance, three, 3),
        None,
        "four slices do not fit in three"
    );
    create_compute(&mut mig, &table, "GPU-x", serial, 0, None).expect("the third slice");
    let full = create_compute(&mut mig, &table, "GPU-x", serial, 0, None);
    assert_eq!(full, Err(INSUFFICIENT_RESOURCES));
    let indices: Vec<u32> = mig.instances[0]
        .compute
        .iter()
        .map(|one| one.index)
        .collect();
    assert_eq!(indices, [0, 1]);
    assert_eq!(compute_name(three, 3), "3g.71gb");
    assert_eq!(compute_name(three, 1), "1c.3g.71gb");
    assert_eq!(compute_multiprocessors(&table, three, 3), 60);
    assert_eq!(compute_multiprocessors(&table, three, 2), 32);
}

#[test]
fn indices_of_mig_devices_have_holes_that_are_filled_first() {
    let table = table();
    let mut mig = Mig::default();
    for _ in 0..3 {
        let serial = create_instance(&mut mig, &table, ONE, None).expect("free");
        create_compute(&mut mig, &table, "GPU-x", serial, 0, None).expect("free");
    }
    mig.instances.remove(1);
    let indices = |mig: &Mig| -> Vec<u32> {
        mig.instances
            .iter()
            .flat_map(|one| one.compute.iter().map(|compute| compute.index))
            .collect()
    };
    assert_eq!(indices(&mig), [0, 2]);
    let serial = create_instance(&mut mig, &table, ONE, None).expect("free");
    create_compute(&mut mig, &table, "GPU-x", serial, 0, None).expect("free");
    assert_eq!(indices(&mig), [0, 2, 1]);
}

#[test]
fn absurd_tables_are_no_panic() {
    let mut absurd = table();
    for profile in &mut absurd {
        profile.size = u32::MAX;
        profile.starts = vec![u32::MAX, 0];
        profile.slices = 0;
    }
    let mut mig = Mig {
        created: u64::MAX,
        ..Mig::default()
    };
    let serial = create_instance(&mut mig, &absurd, ONE, None).expect("the first fits anywhere");
    assert_eq!(
        create_compute(&mut mig, &absurd, "", serial, 0, None),
        Err(INVALID_ARGUMENT)
    );
}
