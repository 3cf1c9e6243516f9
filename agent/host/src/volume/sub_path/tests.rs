#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use agent_core::FailKind;
use k8s_openapi::api::core::v1::VolumeMount;
use rustix::mount::{UnmountFlags, unmount};

use super::super::testing::{mode, mounted};
use super::{SubPath, VolumeError, bind, mount_on, open_source};
use crate::mounts;
use crate::testing::{folder, with_own_mounts};

/// A volume, a place for targets, and a folder of the host beside them.
struct Place {
    _guard: tempfile::TempDir,
    root: PathBuf,
    volume: PathBuf,
}

impl Place {
    fn new() -> Self {
        let (guard, root) = folder();
        let volume = root.join("volume");
        fs::create_dir(&volume).unwrap();
        fs::set_permissions(&volume, fs::Permissions::from_mode(0o2777)).unwrap();
        fs::create_dir(root.join("outside")).unwrap();
        fs::write(root.join("outside/precious"), "host").unwrap();
        Self {
            _guard: guard,
            root,
            volume,
        }
    }

    fn target(&self, number: usize) -> PathBuf {
        self.root
            .join("volume-subpaths/v/c")
            .join(number.to_string())
    }

    fn sub_path(&self, inside: &str, number: usize) -> SubPath<'_> {
        SubPath {
            volume: &self.volume,
            inside: PathBuf::from(inside),
            target: self.target(number),
            told: "subPath of mount \"v\"".to_owned(),
        }
    }

    fn bind_to(&self, inside: &str, number: usize) -> Result<PathBuf, VolumeError> {
        let sub_path = self.sub_path(inside, number);
        bind(&sub_path)?;
        Ok(sub_path.target)
    }

    fn bind(&self, inside: &str) -> Result<PathBuf, VolumeError> {
        self.bind_to(inside, 0)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for mount in mounts::below(&self.root).unwrap() {
            unmount(mount.point, UnmountFlags::DETACH).unwrap();
        }
    }
}

fn identity(path: &Path) -> (u64, u64) {
    let metadata = fs::metadata(path).unwrap();
    (metadata.dev(), metadata.ino())
}

#[test]
fn a_folder_and_a_file_are_bound() {
    with_own_mounts("a_folder_and_a_file_are_bound", || {
        let place = Place::new();
        fs::create_dir_all(place.volume.join("a/b")).unwrap();
        fs::write(place.volume.join("a/file"), "x").unwrap();
        let target = place.bind("a/b").unwrap();
        assert_eq!(identity(&target), identity(&place.volume.join("a/b")));
        let target = place.bind_to("./a/file", 1).unwrap();
        assert_eq!(identity(&target), identity(&place.volume.join("a/file")));
        // Again: nothing is mounted on top.
        place.bind("a/b").unwrap();
        place.bind_to("a/file", 1).unwrap();
        assert_eq!(mounted(&place.root), 2);
    });
}

#[test]
fn a_missing_one_is_made_with_the_volumes_mode() {
    with_own_mounts("a_missing_one_is_made_with_the_volumes_mode", || {
        let place = Place::new();
        fs::create_dir(place.volume.join("there")).unwrap();
        fs::set_permissions(
            place.volume.join("there"),
            fs::Permissions::from_mode(0o700),
        )
        .unwrap();
        let target = place.bind("there/new/deep").unwrap();
        for made in ["there/new", "there/new/deep"] {
            assert_eq!(mode(&place.volume.join(made)), 0o2777, "{made}");
        }
        assert_eq!(mode(&place.volume.join("there")), 0o700);
        fs::write(target.join("file"), "x").unwrap();
        assert!(place.volume.join("there/new/deep/file").exists());
    });
}

#[test]
fn links_lead_anywhere_inside_and_nowhere_else() {
    with_own_mounts("links_lead_anywhere_inside_and_nowhere_else", || {
        let place = Place::new();
        fs::create_dir_all(place.volume.join("real/deep")).unwrap();
        let outside = place.root.join("outside");
        let link = |name: &str, target: &Path| symlink(target, place.volume.join(name)).unwrap();
        link("relative", Path::new("real"));
        link("absolute", &place.volume.join("real"));
        link("self", &place.volume);
        link("up", Path::new("../outside"));
        link("host", &outside);
        link("file", &outside.join("precious"));
        link("proc", Path::new("/proc/self/root"));
        link("nothing", Path::new("real/missing"));
        link("loop", Path::new("loop"));
        let inside = [
            ("relative/deep", "real/deep"),
            ("absolute/deep", "real/deep"),
            ("self", "."),
            ("absolute/new", "real/new"),
        ];
        for (number, (path, expected)) in inside.into_iter().enumerate() {
            let target = place.bind_to(path, number).unwrap();
            assert_eq!(
                identity(&target),
                identity(&place.volume.join(expected)),
                "{path}"
            );
        }
        let bound = mounted(&place.root);
        for path in [
            "up",
            "up/precious",
            "host",
            "host/new",
            "file",
            "proc",
            "proc/etc",
            "nothing",
            "loop",
        ] {
            let error = place.bind_to(path, 9).expect_err(path);
            let message = error.fail("X").message;
            assert!(
                message.starts_with("subPath of mount \"v\": it leads out"),
                "{path}: {message}"
            );
        }
        assert_eq!(mounted(&place.root), bound);
        let names: Vec<_> = fs::read_dir(&outside).unwrap().collect();
        assert_eq!(names.len(), 1, "something was made on the host");
    });
}

/// The moment between opening and mounting belongs to the container.
#[test]
fn what_was_opened_is_bound() {
    with_own_mounts("what_was_opened_is_bound", || {
        let place = Place::new();
        let real = place.volume.join("real");
        for (number, part) in ["real/folder", "real/file"].into_iter().enumerate() {
            fs::create_dir_all(real.join("folder")).unwrap();
            fs::write(real.join("file"), "x").unwrap();
            let ours = identity(&place.volume.join(part));
            let sub_path = place.sub_path(part, number);
            let source = open_source(&sub_path).unwrap();
            fs::rename(&real, place.volume.join(format!("old-{number}"))).unwrap();
            symlink(place.root.join("outside"), &real).unwrap();
            mount_on(&sub_path.target, &source).unwrap();
            assert_eq!(identity(&sub_path.target), ours);
            fs::remove_file(&real).unwrap();
        }
    });
}

/// A container that changes its volume all the time never gets at the host.
#[test]
fn a_link_that_is_swapped_in_leads_nowhere() {
    with_own_mounts("a_link_that_is_swapped_in_leads_nowhere", || {
        let place = Place::new();
        let (real, link) = (place.volume.join("real"), place.volume.join("link"));
        fs::create_dir_all(real.join("sub")).unwrap();
        fs::create_dir(place.root.join("outside/sub")).unwrap();
        symlink(place.root.join("outside"), &link).unwrap();
        symlink("real", place.volume.join("to")).unwrap();
        let done = Arc::new(AtomicBool::new(false));
        let swapper = {
            let (done, real, link) = (Arc::clone(&done), real.clone(), link.clone());
            thread::spawn(move || {
                use rustix::fs::{CWD, RenameFlags, renameat_with};
                while !done.load(Ordering::Relaxed) {
                    renameat_with(CWD, &real, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                }
            })
        };
        let host = [
            identity(&place.root.join("outside")),
            identity(&place.root.join("outside/sub")),
        ];
        let (mut bound, mut refused) = (0, 0);
        for number in 0..3000 {
            let path = ["real/sub", "to/sub", "real/made"][number % 3];
            match place.bind_to(path, 0) {
                Ok(target) => {
                    bound += 1;
                    assert!(!host.contains(&identity(&target)), "the host was bound");
                    unmount(&target, UnmountFlags::DETACH).unwrap();
                }
                Err(_) => refused += 1,
            }
        }
        done.store(true, Ordering::Relaxed);
        swapper.join().unwrap();
        assert!(
            !place.root.join("outside/made").exists(),
            "something was made on the host"
        );
        assert!(
            bound > 0 && refused > 0,
            "no race: {bound} bound, {refused} refused"
        );
    });
}

#[test]
fn what_became_something_else_is_bound_anew() {
    with_own_mounts("what_became_something_else_is_bound_anew", || {
        let place = Place::new();
        let part = place.volume.join("part");
        let target = place.bind("part").unwrap();
        fs::rename(&part, place.volume.join("old")).unwrap();
        fs::create_dir(&part).unwrap();
        fs::write(part.join("new"), "x").unwrap();
        place.bind("part").unwrap();
        assert!(target.join("new").exists());
        assert_eq!(mounted(&place.root), 1);
        // A folder that is a file now, and back.
        fs::remove_dir_all(&part).unwrap();
        fs::write(&part, "file").unwrap();
        place.bind("part").unwrap();
        assert_eq!(
            (fs::read_to_string(&target).unwrap(), mounted(&place.root)),
            ("file".into(), 1)
        );
        fs::remove_file(&part).unwrap();
        place.bind("part").unwrap();
        assert!(target.is_dir());
        assert_eq!(mounted(&place.root), 1);
    });
}

#[test]
fn a_path_comes_from_the_mount() {
    let inside = |sub_path: &str, expression: &str| {
        let text = |text: &str| Some(text.to_owned());
        let mount = VolumeMount {
            sub_path: text(sub_path),
            sub_path_expr: text(expression),
            ..VolumeMount::default()
        };
        let variables = [("POD", "web"), ("EMPTY", ""), ("UP", "../secret")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        SubPath::inside(&mount, &BTreeMap::from(variables))
    };
    assert_eq!(inside("", "").unwrap(), None);
    assert_eq!(inside("a/b", "").unwrap(), Some(PathBuf::from("a/b")));
    assert_eq!(
        inside("", "x/$(POD)/$$(POD)").unwrap(),
        Some(PathBuf::from("x/web/$(POD)"))
    );
    // What is written is for good; what variables say may be something else soon.
    for (path, expression, kind, message) in [
        ("/a", "", FailKind::Permanent, "\"/a\" is not a path"),
        ("a/../b", "", FailKind::Permanent, "is not a path inside"),
        ("..", "", FailKind::Permanent, "is not a path inside"),
        (
            "",
            "$(NO)$(EMPTY)",
            FailKind::Retry,
            "missing value for EMPTY, NO",
        ),
        ("", "/$(POD)", FailKind::Retry, "gives no path inside"),
        (
            "",
            "$(UP)",
            FailKind::Retry,
            "\"$(UP)\" gives no path inside",
        ),
    ] {
        let fail = inside(path, expression).expect_err(path).fail("X");
        assert_eq!(fail.kind, kind, "{fail}");
        assert!(fail.message.contains(message), "{fail}");
        assert!(!fail.message.contains("../secret"), "{fail}");
    }
}

/// As a claim shows it: the volume is a mount itself, and its content is older than the pod.
#[test]
fn nothing_leads_out_of_a_volume_that_is_a_mount() {
    with_own_mounts("nothing_leads_out_of_a_volume_that_is_a_mount", || {
        let place = Place::new();
        let (data, outside) = (place.root.join("data"), place.root.join("outside"));
        fs::create_dir_all(data.join("real")).unwrap();
        symlink("../outside", data.join("up")).unwrap();
        symlink(&outside, data.join("absolute")).unwrap();
        symlink(place.volume.join("real"), data.join("own")).unwrap();
        symlink("/proc/self/root", data.join("root")).unwrap();
        rustix::mount::mount_bind(&data, &place.volume).unwrap();
        for inside in ["real", "own"] {
            let target = place.bind(inside).unwrap();
            assert_eq!(identity(&target), identity(&data.join("real")), "{inside}");
        }
        let before = mounted(&place.root);
        for inside in ["up", "up/precious", "absolute", "absolute/made", "root/etc"] {
            let fail = place.bind_to(inside, 1).unwrap_err().fail("X");
            assert_eq!(fail.kind, FailKind::Retry, "{fail}");
        }
        assert_eq!(mounted(&place.root), before);
        assert!(!outside.join("made").exists());
    });
}
