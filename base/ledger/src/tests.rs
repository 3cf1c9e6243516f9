#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::{Loaded, load, store};

type Record = Vec<(String, u64)>;

fn sample() -> Record {
    vec![("first".to_owned(), 1), ("second".to_owned(), u64::MAX)]
}

#[test]
fn what_was_stored_is_loaded_with_its_version_and_narrow_mode() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record");
    store(&path, 7, &sample()).unwrap();
    store(&path, 8, &sample()).unwrap();
    let Loaded::Found { version, value } = load::<Record>(&path) else {
        panic!("not found")
    };
    assert_eq!((version, value), (8, sample()));
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "a temporary file was left"
    );
}

#[test]
fn no_record_is_not_damage() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(
        load::<Record>(&folder.path().join("record")),
        Loaded::Missing
    ));
}

#[test]
fn every_cut_and_every_flipped_byte_is_noticed_and_set_aside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record");
    store(&path, 1, &sample()).unwrap();
    let good = fs::read(&path).unwrap();
    // The last byte is the newline after the body: without it nothing is lost.
    let cuts = (0..good.len() - 1).map(|end| good[..end].to_vec());
    let flips = (0..good.len() - 1)
        .filter(|at| good[*at] != b'\n')
        .map(|at| {
            let mut bytes = good.clone();
            bytes[at] ^= 0x20;
            bytes
        });
    for bytes in cuts.chain(flips) {
        fs::write(&path, &bytes).unwrap();
        match load::<Record>(&path) {
            Loaded::Damaged(damage) => {
                assert!(damage.kept.unwrap().exists());
                assert!(!path.exists(), "a damaged record stayed in its place");
            }
            // A flip inside the version number gives another valid version: the owner judges it.
            Loaded::Found { version, value } => assert!(version != 1 && value == sample()),
            Loaded::Missing => panic!("a damaged record counted as missing"),
        }
    }
}

#[test]
fn the_first_damaged_copy_is_kept_as_evidence() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record");
    for content in ["first", "second"] {
        fs::write(&path, content).unwrap();
        assert!(matches!(load::<Record>(&path), Loaded::Damaged(_)));
    }
    assert_eq!(
        fs::read_to_string(folder.path().join("record.damaged")).unwrap(),
        "first"
    );
}
