#![allow(clippy::unwrap_used)]

use std::fs::{self, FileTimes};
use std::os::unix::fs::{MetadataExt, symlink};
use std::process::Command;
use std::time::{Duration, SystemTime};

use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use super::{make, message, remove};

fn pod(containers: usize) -> Pod {
    let containers: Vec<_> = (0..containers)
        .map(|at| json!({"name": format!("c{at}")}))
        .collect();
    serde_json::from_value(json!({"metadata": {}, "spec": {"containers": containers}})).unwrap()
}

#[test]
fn the_last_words_of_each_instance_are_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (attempt, words) in [(0, "first"), (1, "second")] {
        let path = make(folder, attempt).unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().mode() & 0o777,
            0o666,
            "any user may write"
        );
        fs::write(path, words).unwrap();
    }
    assert_eq!(message(folder, 0, &pod(1), None).unwrap(), "first");
    assert_eq!(message(folder, 1, &pod(1), None).unwrap(), "second");
    remove(folder, 1).unwrap();
    remove(folder, 1).unwrap();
    assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
}

#[test]
fn a_new_instance_begins_without_words() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(make(folder.path(), 0).unwrap(), "old").unwrap();
    make(folder.path(), 0).unwrap();
    assert_eq!(message(folder.path(), 0, &pod(1), None).unwrap(), "");
}

#[test]
fn a_message_is_cut_to_the_containers_share_of_the_pod() {
    let folder = tempfile::tempdir().unwrap();
    let path = make(folder.path(), 0).unwrap();
    fs::write(
        &path,
        format!("{}{}", "a".repeat(1000), "\u{e4}".repeat(2500)),
    )
    .unwrap();
    // The last 4096 bytes, and of these the first of the share.
    for (containers, bytes) in [(1, 4096), (3, 4096), (4, 3072), (5, 2457 - 1)] {
        let text = message(folder.path(), 0, &pod(containers), None).unwrap();
        assert_eq!(text.len(), bytes, "{containers} containers");
        assert!(text.chars().all(|c| c == '\u{e4}'));
    }
}

#[test]
fn the_log_stands_in_for_an_empty_message_only_when_it_may() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("0.log");
    fs::write(&log, "t stderr F it broke\n").unwrap();
    let own = folder.path().join("own");
    fs::create_dir(&own).unwrap();
    let path = make(&own, 0).unwrap();
    assert_eq!(message(&own, 0, &pod(1), None).unwrap(), "");
    assert_eq!(message(&own, 0, &pod(1), Some(&log)).unwrap(), "it broke\n");
    fs::write(path, "said").unwrap();
    assert_eq!(message(&own, 0, &pod(1), Some(&log)).unwrap(), "said");
    assert_eq!(
        message(&folder.path().join("none"), 0, &pod(1), Some(&log)).unwrap(),
        "it broke\n"
    );
}

#[test]
fn what_a_container_puts_there_instead_is_not_followed_and_does_not_block() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    fs::write(&secret, "secret").unwrap();
    let own = folder.path().join("own");
    fs::create_dir(&own).unwrap();
    let path = make(&own, 0).unwrap();
    fs::remove_file(&path).unwrap();
    symlink(&secret, &path).unwrap();
    assert!(message(&own, 0, &pod(1), None).is_err());
    fs::remove_file(&path).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(&path)
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(message(&own, 0, &pod(1), None).unwrap(), "");
}

#[test]
fn the_file_of_a_taken_over_container_is_the_youngest() {
    let folder = tempfile::tempdir().unwrap();
    for (name, age) in [("7f3a91c2", 10), ("0b44e001", 500)] {
        let path = folder.path().join(name);
        fs::write(&path, name).unwrap();
        let time = SystemTime::now() - Duration::from_secs(age);
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_times(FileTimes::new().set_modified(time)).unwrap();
    }
    assert_eq!(
        message(folder.path(), 3, &pod(1), None).unwrap(),
        "7f3a91c2"
    );
}
