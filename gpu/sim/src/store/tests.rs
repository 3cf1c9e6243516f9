//! The state file: replaced whole, told apart by identity, honest about damage.

use std::fs;

use super::*;
use crate::profile::Profile;

fn machine() -> State {
    Profile::named("t4x1")
        .and_then(|profile| profile.machine("t4x1", 0))
        .expect("a built-in profile")
}

fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let store = Store::at(dir.path().join("machine"));
    (dir, store)
}

#[test]
fn what_is_written_is_read_again() {
    let (_dir, store) = store();
    assert!(matches!(store.load(), Err(StoreError::Missing(_))));
    store.create(&machine()).expect("writable");
    assert_eq!(store.load().expect("just written"), machine());
}

#[test]
fn a_change_that_fails_leaves_the_file_alone() {
    let (_dir, store) = store();
    store.create(&machine()).expect("writable");
    let before = store.stamp();
    let outcome: Result<(), StoreError> = store.update(|state| {
        state.gpus.clear();
        Err(StoreError::Missing(PathBuf::new()))
    });
    assert!(outcome.is_err());
    assert_eq!(store.stamp(), before);
}

#[test]
fn quick_changes_of_the_same_size_never_look_alike() {
    let (_dir, store) = store();
    store.create(&machine()).expect("writable");
    let mut stamps = vec![store.stamp()];
    for round in 0..50_i32 {
        let changed: Result<(), StoreError> = store.update(|state| {
            state.node.cuda_version = 10_000 + round;
            Ok(())
        });
        changed.expect("writable");
        assert!(!stamps.contains(&store.stamp()), "round {round}");
        stamps.push(store.stamp());
    }
}

#[test]
fn damage_is_an_error_and_a_new_machine_repairs_it() {
    let (_dir, store) = store();
    store.create(&machine()).expect("writable");
    let path = store.dir().join(FILE);
    let whole = fs::read(&path).expect("just written");
    let half = whole[..whole.len() / 2].to_vec();
    let cases: [&[u8]; 5] = [b"", &half, b"\0\xff\0\xff", b"[]", br#"{"format": 1}"#];
    for content in cases {
        fs::write(&path, content).expect("writable");
        assert!(
            matches!(store.load(), Err(StoreError::Damaged { .. })),
            "{content:?}"
        );
        let changed: Result<(), StoreError> = store.update(|_| Ok(()));
        assert!(matches!(changed, Err(StoreError::Damaged { .. })));
    }
    store.create(&machine()).expect("writable");
    assert_eq!(store.load().expect("made again"), machine());
}

#[test]
fn another_format_is_named() {
    let (_dir, store) = store();
    store.create(&machine()).expect("writable");
    fs::write(store.dir().join(FILE), br#"{"format": 7}"#).expect("writable");
    assert!(matches!(
        store.load(),
        Err(StoreError::Format { found: 7, .. })
    ));
}
