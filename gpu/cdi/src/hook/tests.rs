#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::{Container, HookError, ldcache, run_hook};

/// A bundle as a runtime makes it, with a neighbour that nothing may touch.
struct Bundle {
    folder: tempfile::TempDir,
}

impl Bundle {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("bundle/rootfs/usr/lib")).unwrap();
        fs::create_dir_all(folder.path().join("outside")).unwrap();
        fs::write(
            folder.path().join("bundle/config.json"),
            r#"{"root": {"path": "rootfs"}}"#,
        )
        .unwrap();
        Self { folder }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join("bundle/rootfs").join(path)
    }

    fn outside(&self, path: &str) -> PathBuf {
        self.folder.path().join("outside").join(path)
    }

    fn state(&self) -> String {
        let bundle = self.folder.path().join("bundle");
        serde_json::json!({ "ociVersion": "1.2.0", "id": "x", "bundle": bundle }).to_string()
    }

    fn run(&self, arguments: &[&str]) -> Result<String, HookError> {
        let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
        let mut messages = Vec::new();
        run_hook(&arguments, self.state().as_bytes(), &mut messages)?;
        Ok(String::from_utf8(messages).unwrap())
    }

    fn update(&self, programs: &[&str]) -> String {
        let container = Container::of(self.state().as_bytes()).unwrap();
        let mut messages = Vec::new();
        ldcache::update(
            &container,
            &["/usr/lib/x", "/usr/lib/y"],
            programs,
            &mut messages,
        );
        String::from_utf8(messages).unwrap()
    }

    fn with_cache() -> Self {
        let bundle = Self::new();
        fs::create_dir_all(bundle.path("etc")).unwrap();
        fs::write(bundle.path("etc/ld.so.cache"), "old").unwrap();
        bundle
    }

    /// A program that stands for the host's ldconfig.
    fn program(&self, script: &str) -> String {
        let path = self.folder.path().join("ldconfig");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

#[test]
fn links_are_made_renewed_and_never_replace_a_file() {
    let bundle = Bundle::new();
    symlink("elsewhere", bundle.path("usr/lib/old.so")).unwrap();
    fs::write(bundle.path("usr/lib/image.so"), "of the image").unwrap();
    let arguments = [
        "create-symlinks",
        "--link",
        "libcuda.so.1::/usr/lib/libcuda.so",
        "--link",
        "../card1::/dev/dri/by-path/pci-0000:01:00.0-card",
        "--link",
        "new.so.1::/usr/lib/old.so",
        "--link",
        "image.so.1::/usr/lib/image.so",
    ];
    for _ in 0..2 {
        let messages = bundle.run(&arguments).unwrap();
        assert_eq!(
            messages,
            "/usr/lib/image.so is a file of the image and stays\n"
        );
    }
    let target = |path: &str| fs::read_link(bundle.path(path)).unwrap();
    assert_eq!(target("usr/lib/libcuda.so"), Path::new("libcuda.so.1"));
    assert_eq!(
        target("dev/dri/by-path/pci-0000:01:00.0-card"),
        Path::new("../card1")
    );
    assert_eq!(target("usr/lib/old.so"), Path::new("new.so.1"));
    assert_eq!(
        fs::read_to_string(bundle.path("usr/lib/image.so")).unwrap(),
        "of the image"
    );
}

#[test]
fn no_link_of_an_image_leads_a_hook_outside() {
    let bundle = Bundle::with_cache();
    symlink(bundle.folder.path().join("outside"), bundle.path("escape")).unwrap();
    symlink("../../../../../../outside", bundle.path("usr/climb")).unwrap();
    bundle
        .run(&["create-symlinks", "--link", "a::/escape/link"])
        .unwrap();
    bundle
        .run(&["create-symlinks", "--link", "a::/usr/climb/link"])
        .unwrap();
    bundle
        .run(&["create-symlinks", "--link", "a::/../../../outside/link"])
        .unwrap();
    // The file that the hook writes, and its folder, are links to the outside.
    fs::write(bundle.outside("victim"), "safe").unwrap();
    fs::create_dir_all(bundle.path("etc/ld.so.conf.d")).unwrap();
    symlink(
        bundle.outside("victim"),
        bundle.path("etc/ld.so.conf.d/00-gpulet.conf"),
    )
    .unwrap();
    symlink(bundle.outside("victim"), bundle.path("etc/ld.so.conf")).unwrap();
    bundle.update(&[&bundle.program("true")]);
    assert_eq!(
        fs::read_to_string(bundle.outside("victim")).unwrap(),
        "safe"
    );
    fs::remove_dir_all(bundle.path("etc/ld.so.conf.d")).unwrap();
    symlink(
        bundle.folder.path().join("outside"),
        bundle.path("etc/ld.so.conf.d"),
    )
    .unwrap();
    bundle.update(&[&bundle.program("true")]);
    let left: Vec<_> = fs::read_dir(bundle.outside("")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn wrong_words_and_broken_bundles_are_clear_errors() {
    let bundle = Bundle::new();
    for arguments in [
        &[][..],
        &["chmod"],
        &["create-symlinks", "--link"],
        &["create-symlinks", "--folder", "/x"],
        &["create-symlinks", "--link", "no-separator"],
        &["create-symlinks", "--link", "target::relative"],
        &["create-symlinks", "--link", "::/path"],
    ] {
        let error = bundle.run(arguments).unwrap_err();
        assert!(
            matches!(error, HookError::Usage(_)),
            "{arguments:?}: {error}"
        );
    }
    let run = |state: &str| {
        let arguments = ["create-symlinks".to_owned()];
        run_hook(&arguments, state.as_bytes(), &mut Vec::new()).unwrap_err()
    };
    for state in ["", "{", "[]", "{\"bundle\": 3}"] {
        assert!(matches!(run(state), HookError::State(_)), "{state}");
    }
    assert!(matches!(
        run("{\"bundle\": \"/none\"}"),
        HookError::Bundle { .. }
    ));
    fs::write(bundle.folder.path().join("bundle/config.json"), "{}").unwrap();
    assert!(matches!(run(&bundle.state()), HookError::Bundle { .. }));
    fs::write(
        bundle.folder.path().join("bundle/config.json"),
        r#"{"root": {"path": "no"}}"#,
    )
    .unwrap();
    assert!(matches!(run(&bundle.state()), HookError::Bundle { .. }));
}

#[test]
fn the_cache_is_updated_with_the_hosts_program() {
    let bundle = Bundle::with_cache();
    let log = bundle.folder.path().join("log");
    let program = bundle.program(&format!("echo \"$@\" > {}", log.display()));
    assert_eq!(bundle.update(&["/none/ldconfig.real", &program]), "");
    let root = bundle.folder.path().join("bundle/rootfs");
    assert_eq!(
        fs::read_to_string(log).unwrap(),
        format!("-r {}\n", root.display())
    );
    let read = |path: &str| fs::read_to_string(bundle.path(path)).unwrap();
    assert_eq!(
        read("etc/ld.so.conf.d/00-gpulet.conf"),
        "/usr/lib/x\n/usr/lib/y\n"
    );
    assert_eq!(read("etc/ld.so.conf"), "include /etc/ld.so.conf.d/*.conf\n");
    fs::write(bundle.path("etc/ld.so.conf"), "of the image").unwrap();
    bundle.update(&[&program]);
    assert_eq!(read("etc/ld.so.conf"), "of the image");
}

#[test]
fn a_cache_that_cannot_be_updated_is_told_and_fails_nothing() {
    let bundle = Bundle::new();
    assert!(
        bundle
            .update(&[&bundle.program("true")])
            .contains("no library cache")
    );
    assert!(
        !bundle.path("etc").exists(),
        "an image without a cache is left alone"
    );
    let bundle = Bundle::with_cache();
    assert!(bundle.update(&["/none"]).contains("no ldconfig"));
    let failing = bundle.program("echo broken >&2; exit 3");
    let messages = bundle.update(&[&failing]);
    assert!(messages.contains("exit status: 3: broken"), "{messages}");
    fs::remove_file(bundle.path("etc/ld.so.conf.d/00-gpulet.conf")).unwrap();
    fs::create_dir(bundle.path("etc/ld.so.conf.d/00-gpulet.conf")).unwrap();
    assert!(bundle.update(&[&failing]).contains("cannot be listed"));
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that cannot run says why")]
fn the_real_ldconfig_finds_a_mounted_library() {
    let program = ldcache::PROGRAMS
        .iter()
        .find(|program| Path::new(program).is_file());
    let library = [
        "/lib/x86_64-linux-gnu/libm.so.6",
        "/lib64/libm.so.6",
        "/lib/aarch64-linux-gnu/libm.so.6",
    ];
    let library = library.iter().find(|path| Path::new(path).is_file());
    let (Some(_), Some(library), true) = (program, library, rustix::process::geteuid().is_root())
    else {
        eprintln!("skipped: needs root, ldconfig and a libm.so.6 of glibc");
        return;
    };
    let bundle = Bundle::with_cache();
    fs::create_dir_all(bundle.path("driver")).unwrap();
    fs::copy(library, bundle.path("driver/libm.so.6")).unwrap();
    let messages = bundle
        .run(&["update-ldcache", "--folder", "/driver"])
        .unwrap();
    let cache = fs::read(bundle.path("etc/ld.so.cache")).unwrap();
    let path = b"/driver/libm.so.6";
    assert!(
        cache.windows(path.len()).any(|bytes| bytes == path),
        "{messages}"
    );
}
