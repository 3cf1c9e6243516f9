#![allow(clippy::unwrap_used)]

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::{LINK_LIMIT, Root};

/// A root with a neighbour that nothing may reach.
fn world() -> (tempfile::TempDir, Root) {
    let world = tempfile::tempdir().unwrap();
    fs::create_dir_all(world.path().join("root/usr/lib")).unwrap();
    fs::create_dir_all(world.path().join("outside")).unwrap();
    fs::write(world.path().join("root/usr/lib/file"), "inside").unwrap();
    fs::write(world.path().join("outside/file"), "outside").unwrap();
    let root = Root::open(&world.path().join("root")).unwrap();
    (world, root)
}

#[test]
fn every_link_leads_inside() {
    let (world, root) = world();
    let base = world.path().join("root");
    symlink("/usr/lib", base.join("absolute")).unwrap();
    symlink("usr/lib", base.join("relative")).unwrap();
    symlink("../../../../usr/lib", base.join("usr/climbing")).unwrap();
    symlink("/absolute/file", base.join("chain")).unwrap();
    symlink("/usr/lib", base.join("usr/lib/deep")).unwrap();
    symlink(world.path().join("outside"), base.join("escape")).unwrap();
    for path in [
        "/usr/lib/file",
        "usr/./lib/file",
        "/../../usr/lib/../lib/file",
        "/absolute/file",
        "/relative/file",
        "/usr/climbing/file",
        "/chain",
        "/usr/lib/deep/deep/file",
    ] {
        let outside = root.outside(Path::new(path)).unwrap();
        assert_eq!(
            outside,
            base.join("usr/lib/file").canonicalize().unwrap(),
            "{path}"
        );
    }
    let error = root.find(Path::new("/escape/file")).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    // Making folders through the escaping link makes them inside.
    root.make_folders(Path::new("/escape/new")).unwrap();
    assert!(!world.path().join("outside/new").exists());
    let inside = base
        .join(world.path().strip_prefix("/").unwrap())
        .join("outside/new");
    assert!(inside.is_dir());
}

#[test]
fn loops_and_files_in_the_way_are_errors() {
    let (world, root) = world();
    let base = world.path().join("root");
    symlink("b", base.join("a")).unwrap();
    symlink("a", base.join("b")).unwrap();
    for n in 0..LINK_LIMIT + 5 {
        symlink(format!("link{}", n + 1), base.join(format!("link{n}"))).unwrap();
    }
    for path in ["/a", "/link0", "/a/below"] {
        let error = root.find(Path::new(path)).unwrap_err();
        assert_eq!(
            error.raw_os_error(),
            Some(rustix::io::Errno::LOOP.raw_os_error()),
            "{path}"
        );
    }
    let error = root.find(Path::new("/usr/lib/file/below")).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
    assert!(root.make_folders(Path::new("/usr/lib/file")).is_err());
    assert_eq!(
        root.find(Path::new("/none")).unwrap_err().kind(),
        io::ErrorKind::NotFound
    );
}
