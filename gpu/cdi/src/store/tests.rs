#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::{FILE_NAME, StoreError, load, store};
use crate::document::Document;

fn document(kind: &str) -> Document {
    Document {
        cdi_version: "0.5.0".to_owned(),
        kind: kind.to_owned(),
        ..Document::default()
    }
}

#[test]
fn the_file_is_replaced_only_when_its_content_changes() {
    let folder = tempfile::tempdir().unwrap();
    let cdi = folder.path().join("made/on/demand");
    let first = store(&cdi, &document("a/b")).unwrap();
    assert!(first.written && first.path == cdi.join(FILE_NAME) && first.hash.len() == 64);
    let inode = || fs::metadata(&first.path).unwrap().ino();
    let before = inode();
    let second = store(&cdi, &document("a/b")).unwrap();
    assert_eq!(
        (second.written, &second.hash, inode()),
        (false, &first.hash, before)
    );
    let third = store(&cdi, &document("a/c")).unwrap();
    assert!(third.written && third.hash != first.hash && inode() != before);
    assert_eq!(
        fs::metadata(&first.path).unwrap().permissions().mode() & 0o777,
        0o644
    );
    assert_eq!(load(&cdi), Some(document("a/c")));
    assert_eq!(
        fs::read_dir(&cdi).unwrap().count(),
        1,
        "a temporary file was left"
    );
}

#[test]
fn a_cut_file_and_a_left_over_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(FILE_NAME), "{\"cdiVer").unwrap();
    fs::write(
        folder.path().join(format!(".{FILE_NAME}.new")),
        "from a crash",
    )
    .unwrap();
    assert_eq!(load(folder.path()), None);
    assert!(store(folder.path(), &document("a/b")).unwrap().written);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let error = store(&folder.path().join("file/below"), &document("a/b")).unwrap_err();
    assert!(matches!(error, StoreError::Write { .. }) && error.to_string().contains("file/below"));
}
