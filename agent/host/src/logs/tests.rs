#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Read;
use std::path::Path;

use agent_core::{ContainerId, ContainerName, PodUid};
use agent_loops::ports::LogOwner;
use flate2::read::GzDecoder;

use super::{LogLimits, last_lines, link, remove_dangling, remove_instance, remove_pod, rotate};

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn limits(max_files: usize) -> LogLimits {
    LogLimits {
        max_size: Some(10),
        max_files,
    }
}

#[test]
fn a_small_log_stays_and_rotation_can_be_off() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("0.log");
    fs::write(&log, "123456789").unwrap();
    assert!(!rotate(&log, limits(2)).unwrap());
    fs::write(&log, "1234567890").unwrap();
    assert!(
        !rotate(
            &log,
            LogLimits {
                max_size: None,
                max_files: 2
            }
        )
        .unwrap()
    );
    assert_eq!(names(folder.path()), ["0.log"]);
}

#[test]
fn a_log_over_the_limit_takes_the_name_of_the_moment() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("0.log");
    fs::write(&log, "0123456789").unwrap();
    assert!(rotate(&log, limits(3)).unwrap());
    let [name] = &names(folder.path())[..] else {
        panic!("{:?}", names(folder.path()))
    };
    let stamp = name.strip_prefix("0.log.").unwrap();
    let shape: String = stamp
        .chars()
        .map(|c| if c.is_ascii_digit() { '9' } else { c })
        .collect();
    assert_eq!(shape, "99999999-999999");
    assert!(
        rotate(&log, limits(3)).unwrap(),
        "a missing log has to be opened anew"
    );
}

#[test]
fn older_ones_are_compressed_and_the_oldest_go() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in [
        "0.log",
        "0.log.20260101-000001.gz",
        "0.log.20260101-000002",
        "0.log.20260101-000003",
    ] {
        fs::write(at(name), format!("content of {name}")).unwrap();
    }
    // Those of another instance and of the runtime are not touched.
    fs::write(at("10.log"), "other").unwrap();
    assert!(rotate(&at("0.log"), limits(4)).unwrap());
    let found = names(folder.path());
    assert_eq!(found.len(), 4, "{found:?}");
    assert_eq!(
        found[..2],
        ["0.log.20260101-000002.gz", "0.log.20260101-000003.gz"]
    );
    assert!(
        found[2].starts_with("0.log.2") && !found[2].ends_with(".gz"),
        "the newest is plain"
    );
    assert_eq!(found[3], "10.log");
    let mut text = String::new();
    let file = fs::File::open(at("0.log.20260101-000002.gz")).unwrap();
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    assert_eq!(text, "content of 0.log.20260101-000002");
}

#[test]
fn what_a_broken_rotation_left_is_cleaned() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["0.log", "0.log.1", "0.log.1.gz", "0.log.2", "0.log.2.tmp"] {
        fs::write(at(name), "0123456789").unwrap();
    }
    rotate(&at("0.log"), limits(9)).unwrap();
    let found = names(folder.path());
    assert_eq!(found[..2], ["0.log.1.gz", "0.log.2.gz"]);
    assert_eq!(found.len(), 3, "{found:?}");
}

#[test]
fn two_files_are_the_least_and_keep_one_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("0.log");
    for name in ["0.log", "0.log.20200101-000000", "0.log.20200102-000000.gz"] {
        fs::write(folder.path().join(name), "0123456789").unwrap();
    }
    rotate(&log, limits(2)).unwrap();
    assert_eq!(names(folder.path()).len(), 1);
}

#[test]
fn logs_go_by_instance_and_by_pod() {
    let folder = tempfile::tempdir().unwrap();
    let container = folder.path().join("pod/main");
    fs::create_dir_all(&container).unwrap();
    for name in ["1.log", "1.log.20260101-000000.gz", "11.log", "1.logs"] {
        fs::write(container.join(name), "x").unwrap();
    }
    remove_instance(&container.join("1.log")).unwrap();
    remove_instance(&container.join("1.log")).unwrap();
    assert_eq!(names(&container), ["1.logs", "11.log"]);
    let outside = folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept"), "x").unwrap();
    std::os::unix::fs::symlink(&outside, folder.path().join("pod/link")).unwrap();
    remove_pod(&folder.path().join("pod")).unwrap();
    remove_pod(&folder.path().join("pod")).unwrap();
    assert_eq!(names(folder.path()), ["outside"]);
    assert_eq!(
        names(&outside),
        ["kept"],
        "a link is removed, not what it leads to"
    );
}

#[test]
fn the_last_lines_come_without_time_stamps_and_with_parts_joined() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("0.log");
    let head = "2026-11-30T12:00:00.000000000Z";
    let text = format!(
        "{head} stdout F one\n{head} stdout P tw\n{head} stdout F o\ngarbage\n{head} stderr F three  x\n\
         {head} stdout P four"
    );
    fs::write(&log, text).unwrap();
    assert_eq!(
        last_lines(&log, 80, 2048).unwrap(),
        "one\ntwo\nthree  x\nfour"
    );
    assert_eq!(last_lines(&log, 2, 2048).unwrap(), "three  x\nfour");
    assert_eq!(last_lines(&log, 80, 6).unwrap(), "x\nfour");
    assert_eq!(
        last_lines(&folder.path().join("none"), 80, 2048).unwrap(),
        ""
    );
}

#[test]
fn of_a_large_log_only_the_end_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("0.log");
    let mut text = String::new();
    for at in 0..100_000 {
        text.push_str(&format!("t stdout F line {at}\n"));
    }
    fs::write(&log, text).unwrap();
    assert_eq!(
        last_lines(&log, 2, 2048).unwrap(),
        "line 99998\nline 99999\n"
    );
}

#[test]
fn links_carry_names_and_go_with_their_log() {
    let folder = tempfile::tempdir().unwrap();
    let links = folder.path().join("containers");
    let log = folder.path().join("0.log");
    fs::write(&log, "x").unwrap();
    let owner = |name: &str| LogOwner {
        namespace: "shop".to_owned(),
        name: name.to_owned(),
        uid: PodUid::new("u"),
    };
    let (name, id) = (ContainerName::new("main"), ContainerId::new("abc"));
    for _ in 0..2 {
        link(&links, &owner("web"), &name, &id, &log).unwrap();
    }
    link(
        &links,
        &owner("other"),
        &name,
        &id,
        &folder.path().join("gone"),
    )
    .unwrap();
    link(&links, &owner(&"x".repeat(300)), &name, &id, &log).unwrap();
    assert!(
        names(&links)
            .iter()
            .all(|name| name.len() <= 255 && name.ends_with(".log"))
    );
    assert_eq!(
        fs::read_to_string(links.join("web_shop_main-abc.log")).unwrap(),
        "x"
    );
    remove_dangling(&links, &owner("web")).unwrap();
    assert_eq!(
        names(&links).len(),
        3,
        "its log is there, and other pods are not its business"
    );
    fs::remove_file(&log).unwrap();
    remove_dangling(&links, &owner("web")).unwrap();
    assert!(!names(&links).contains(&"web_shop_main-abc.log".to_owned()));
    assert_eq!(names(&links).len(), 2);
}
