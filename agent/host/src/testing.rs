//! What tests of this crate need from the machine.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::Write;
use std::path::PathBuf;
use std::thread;

use nix::sched::{CloneFlags, unshare};
use rustix::mount::{MountPropagationFlags, mount_change};

use crate::facts::is_root;

/// Tells that a test could not run. Not through `println!`, which the test harness keeps to itself for
/// a test that passes.
pub(crate) fn skip(test: &str, reason: &str) {
    let line = format!("SKIP {test}: {reason}\n");
    std::io::stdout().write_all(line.as_bytes()).unwrap();
}

/// Runs `test` in a thread with a mount namespace of its own, so that its mounts end with it and
/// nobody else sees them.
pub(crate) fn with_own_mounts(name: &str, test: impl FnOnce() + Send + 'static) {
    if !is_root() {
        return skip(name, "mounting needs root");
    }
    let body = move || {
        unshare(CloneFlags::CLONE_NEWNS).unwrap();
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change("/", private).unwrap();
        test();
    };
    if let Err(panic) = thread::spawn(body).join() {
        std::panic::resume_unwind(panic);
    }
}

/// A folder that is free of links, as the kernel shows it in its tables, and goes when dropped.
pub(crate) fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    (folder, path)
}
