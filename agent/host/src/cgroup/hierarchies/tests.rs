#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::{CgroupVersion, driver, from_mounts};
use crate::cgroup::CgroupError;
use crate::mounts;

fn detect(table: &str) -> Result<CgroupVersion, CgroupError> {
    from_mounts(&mounts::parse(table.as_bytes()))
}

const HYBRID: &str = "\
31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
33 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
34 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
35 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd
36 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
37 31 0:39 / /sys/fs/cgroup/elogind rw - cgroup cgroup rw,name=elogind
38 31 0:40 / /sys/fs/cgroup/freezer ro - cgroup cgroup rw,freezer
";

#[test]
fn a_hybrid_host_has_all_hierarchies_that_a_runtime_uses() {
    let CgroupVersion::V1 { hierarchies } = detect(HYBRID).unwrap() else {
        panic!("not v1")
    };
    let found: Vec<(&str, &str)> = hierarchies
        .iter()
        .map(|(name, path)| (name.as_str(), path.to_str().unwrap()))
        .collect();
    assert_eq!(
        found,
        [
            ("cpu", "/sys/fs/cgroup/cpu,cpuacct"),
            ("cpuacct", "/sys/fs/cgroup/cpu,cpuacct"),
            ("memory", "/sys/fs/cgroup/memory"),
            ("pids", "/sys/fs/cgroup/pids"),
            ("systemd", "/sys/fs/cgroup/systemd"),
            ("unified", "/sys/fs/cgroup/unified"),
        ]
    );
}

#[test]
fn version_2_is_what_is_mounted_on_the_known_place() {
    let table = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n\
        31 30 0:27 / /opt/net_cls rw - cgroup cgroup rw,net_cls\n";
    assert_eq!(
        detect(table).unwrap(),
        CgroupVersion::V2 {
            root: "/sys/fs/cgroup".into()
        }
    );
}

#[test]
fn a_missing_controller_is_named() {
    let table = HYBRID.replace("rw,memory", "rw,perf_event");
    assert!(matches!(
        detect(&table),
        Err(CgroupError::NotMounted("memory"))
    ));
    assert!(matches!(detect(""), Err(CgroupError::NotMounted("cpu"))));
}

#[test]
fn the_driver_is_chosen_by_name_and_version() {
    let version = detect(HYBRID).unwrap();
    let choose = |name, fail_v1| driver(name, version.clone(), fail_v1).map(drop);
    assert!(choose("cgroupfs", false).is_ok());
    assert!(matches!(
        choose("cgroupfs", true),
        Err(CgroupError::Version1Refused)
    ));
    assert!(matches!(
        choose("Systemd", false),
        Err(CgroupError::UnknownDriver(_))
    ));
    let systemd = choose("systemd", false).unwrap_err().to_string();
    assert!(systemd.contains("needs the systemd driver, which this version does not have"));
    assert!(systemd.contains("cgroupDriver: cgroupfs"));
}
