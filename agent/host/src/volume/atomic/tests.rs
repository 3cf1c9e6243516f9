#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::cell::Cell;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::super::testing::mode;
use super::{DATA, File, Files, NEW_DATA, write};
use crate::testing::folder;

fn files(list: &[(&str, &str)]) -> Files {
    let file = |content: &str| File {
        content: content.as_bytes().to_vec(),
        mode: 0o640,
        owner: None,
    };
    list.iter()
        .map(|(path, content)| (PathBuf::from(path), file(content)))
        .collect()
}

fn write_plain(volume: &Path, list: &[(&str, &str)]) {
    write(volume, &files(list), || Ok(())).unwrap();
}

/// Names right in the volume; those of contents, which begin with the time, as `..`.
fn names(volume: &Path) -> Vec<String> {
    let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = fs::read_dir(volume).unwrap().map(name).collect();
    for name in &mut names {
        if name.starts_with("..2") {
            name.truncate(2);
        }
    }
    names.sort();
    names
}

fn read(volume: &Path, name: &str) -> String {
    fs::read_to_string(volume.join(name)).unwrap()
}

#[test]
fn files_are_seen_through_one_link() {
    let (_guard, volume) = folder();
    write_plain(
        &volume,
        &[("name", "web"), ("deep/er/labels", "a"), ("deep/uid", "1")],
    );
    assert_eq!(names(&volume), ["..", "..data", "deep", "name"]);
    assert_eq!(
        fs::read_link(volume.join("name")).unwrap(),
        Path::new("..data/name")
    );
    assert_eq!(
        fs::read_link(volume.join("deep")).unwrap(),
        Path::new("..data/deep")
    );
    assert_eq!(
        (read(&volume, "name"), read(&volume, "deep/er/labels")),
        ("web".into(), "a".into())
    );
    let hidden = fs::canonicalize(volume.join(DATA)).unwrap();
    assert_eq!((mode(&hidden), mode(&hidden.join("name"))), (0o755, 0o640));
}

#[test]
fn only_a_change_makes_a_new_content() {
    let (_guard, volume) = folder();
    write_plain(&volume, &[("a", "1"), ("b/c", "2")]);
    let first = fs::read_link(volume.join(DATA)).unwrap();
    write_plain(&volume, &[("a", "1"), ("b/c", "2")]);
    assert_eq!(fs::read_link(volume.join(DATA)).unwrap(), first);
    // A reader that has the old content open keeps it, and does not see a mixture.
    let old = fs::File::open(volume.join("a")).unwrap();
    write_plain(&volume, &[("a", "3"), ("d", "4")]);
    assert_eq!(io::read_to_string(old).unwrap(), "1");
    assert_ne!(fs::read_link(volume.join(DATA)).unwrap(), first);
    assert_eq!(
        (read(&volume, "a"), read(&volume, "d")),
        ("3".into(), "4".into())
    );
    assert_eq!(names(&volume), ["..", "..data", "a", "d"]);
}

#[test]
fn a_new_content_is_finished_before_it_is_seen() {
    let (_guard, volume) = folder();
    let seen = Cell::new(None);
    let finish = || {
        seen.set(Some(volume.join(DATA).exists()));
        Err(io::Error::other("no"))
    };
    assert!(write(&volume, &files(&[("a", "1")]), finish).is_err());
    assert_eq!(seen.get(), Some(false));
    assert!(!volume.join("a").exists());
    write_plain(&volume, &[("a", "1")]);
    assert_eq!(
        names(&volume),
        ["..", "..data", "a"],
        "the broken one is left"
    );
}

/// Each state that a crash can leave, then the same call again.
#[test]
fn what_broke_off_is_finished() {
    let states: [fn(&Path); 5] = [
        |volume| {
            fs::create_dir(volume.join("..2026_01_01_00_00_00.1")).unwrap();
            fs::write(volume.join("..2026_01_01_00_00_00.1/a"), "hal").unwrap();
        },
        |volume| symlink("..2026_01_01_00_00_00.1", volume.join(NEW_DATA)).unwrap(),
        |volume| {
            write_plain(volume, &[("a", "1"), ("b", "2")]);
            fs::remove_file(volume.join("b")).unwrap();
        },
        |volume| {
            write_plain(volume, &[("a", "1"), ("b", "2")]);
            fs::create_dir(volume.join("..2025_01_01_00_00_00.1")).unwrap();
            symlink("..data/gone", volume.join("gone")).unwrap();
        },
        |volume| symlink("..2026_01_01_00_00_00.1", volume.join(DATA)).unwrap(),
    ];
    for (number, state) in states.into_iter().enumerate() {
        let (_guard, volume) = folder();
        state(&volume);
        write_plain(&volume, &[("a", "1"), ("b", "2")]);
        assert_eq!(names(&volume), ["..", "..data", "a", "b"], "state {number}");
        assert_eq!(
            (read(&volume, "a"), read(&volume, "b")),
            ("1".into(), "2".into())
        );
    }
}

#[test]
fn folders_of_others_stay() {
    let (_guard, volume) = folder();
    fs::create_dir(volume.join("mount")).unwrap();
    write_plain(&volume, &[("a", "1")]);
    write_plain(&volume, &[("b", "1")]);
    assert_eq!(names(&volume), ["..", "..data", "b", "mount"]);
}
