#![allow(clippy::unwrap_used)]

use std::fs::create_dir_all;

use super::{Kernel, MASKED_PATHS, page_size};

#[test]
fn what_sysfs_shows() {
    let sys = tempfile::tempdir().unwrap();
    for folder in [
        "kernel/mm/hugepages/hugepages-1048576kB",
        "kernel/mm/hugepages/hugepages-2048kB",
        "kernel/mm/hugepages/other",
        "devices/system/cpu/cpu10/thermal_throttle",
        "devices/system/cpu/cpu2/thermal_throttle",
        "devices/system/cpu/cpu3",
        "devices/system/cpu/cpufreq",
    ] {
        create_dir_all(sys.path().join(folder)).unwrap();
    }
    let kernel = Kernel::read(sys.path());
    assert_eq!(kernel.huge_page_sizes, ["2MB", "1GB"]);
    assert_eq!(
        kernel.masked_paths[MASKED_PATHS.len()..],
        [
            "/sys/devices/system/cpu/cpu2/thermal_throttle",
            "/sys/devices/system/cpu/cpu10/thermal_throttle"
        ]
    );
}

#[test]
fn nothing_to_read_is_no_error() {
    let kernel = Kernel::read("/nonexistent".as_ref());
    assert_eq!(
        (kernel.huge_page_sizes.len(), kernel.masked_paths.len()),
        (0, MASKED_PATHS.len())
    );
}

#[test]
fn sizes() {
    for (bytes, name) in [
        (512, "512B"),
        (64 << 10, "64KB"),
        (2 << 20, "2MB"),
        (1 << 30, "1GB"),
        (3 << 40, "3TB"),
    ] {
        assert_eq!(page_size(bytes), name);
    }
}
