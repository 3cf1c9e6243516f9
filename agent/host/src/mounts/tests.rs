#![allow(clippy::unwrap_used)]

use std::path::Path;

use super::parse;

#[test]
fn the_kernels_table_is_read() {
    let table = b"36 35 98:0 / /mnt/a\\040b rw,noatime shared:1 master:2 - ext4 /dev/root rw,errors=continue\n\
        37 35 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
        broken\n\
        38 36 0:31 / /x\\134y rw - tmpfs tmpfs rw,size=4k\n";
    let mounts = parse(table);
    let shown: Vec<_> = mounts
        .iter()
        .map(|mount| {
            (
                mount.point.as_path(),
                mount.kind.as_str(),
                mount.options.as_str(),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            (Path::new("/mnt/a b"), "ext4", "rw,errors=continue"),
            (Path::new("/sys/fs/cgroup/cpu"), "cgroup", "rw,cpu"),
            (Path::new("/x\\y"), "tmpfs", "rw,size=4k"),
        ]
    );
}
