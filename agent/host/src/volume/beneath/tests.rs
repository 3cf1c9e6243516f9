#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use super::{is_mount_point, open, open_own, open_plain};
use crate::testing::{folder, with_own_mounts};

#[test]
fn a_plain_path_has_no_links_and_stays_below() {
    let (_guard, root) = folder();
    fs::create_dir_all(root.join("top/a/b")).unwrap();
    for (name, target) in [
        ("inner", "a"),
        ("up", ".."),
        ("host", "/etc"),
        ("proc", "/proc/self/cwd"),
    ] {
        symlink(target, root.join("top").join(name)).unwrap();
    }
    let top = rustix::fs::open(root.join("top"), OFlags::PATH, Mode::empty()).unwrap();
    let table = [
        ("a/b", Ok(())),
        (".", Ok(())),
        ("a/../a", Ok(())),
        ("inner", Err(Errno::LOOP)),
        ("inner/b", Err(Errno::LOOP)),
        ("up", Err(Errno::LOOP)),
        ("host", Err(Errno::LOOP)),
        ("proc", Err(Errno::LOOP)),
        ("..", Err(Errno::XDEV)),
        ("a/../..", Err(Errno::XDEV)),
        ("/etc", Err(Errno::XDEV)),
        ("no", Err(Errno::NOENT)),
    ];
    for (path, expected) in table {
        for opened in [
            open_plain(&top, path, OFlags::PATH),
            open_own(&top, path, OFlags::PATH),
        ] {
            assert_eq!(opened.map(drop), expected, "{path}");
        }
    }
    // Followed as long as it stays below.
    let follow =
        |path: &str| open(&top, &root.join("top"), Path::new(path), OFlags::PATH).map(drop);
    assert_eq!(
        (follow("inner/b"), follow("up")),
        (Ok(()), Err(Errno::XDEV))
    );
}

#[test]
fn mount_points_are_seen_from_above() {
    with_own_mounts("mount_points_are_seen_from_above", || {
        let (_guard, root) = folder();
        let (point, file) = (root.join("point"), root.join("file"));
        fs::create_dir_all(point.join("inner")).unwrap();
        fs::write(&file, "x").unwrap();
        symlink(&point, root.join("link")).unwrap();
        mount("tmpfs", &point, "tmpfs", MountFlags::empty(), None).unwrap();
        fs::create_dir(point.join("inner")).unwrap();
        assert_eq!(is_mount_point(&point), Ok(true));
        assert_eq!(is_mount_point(&point.join("inner")), Ok(false));
        assert_eq!(is_mount_point(&root.join("no/deeper")), Ok(false));
        assert_eq!(is_mount_point(&root.join("link")), Ok(false));
        rustix::mount::mount_bind("/dev/null", &file).unwrap();
        assert_eq!(is_mount_point(&file), Ok(true));
        unmount(&file, UnmountFlags::empty()).unwrap();
        unmount(&point, UnmountFlags::empty()).unwrap();
        assert_eq!(
            (is_mount_point(&point), is_mount_point(&file)),
            (Ok(false), Ok(false))
        );
    });
}
