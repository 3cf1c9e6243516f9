//! Opening paths that somebody else writes, without leaving a folder.
//!
//! The kernel resolves the whole path in one call and refuses every step outside (`openat2`). There is
//! no moment between a check and its use.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::{Errno, Result};
use rustix::path::Arg;

/// Tries when the tree is being renamed under the kernel's hands.
const TRIES: usize = 32;

/// Opens `inside` below `top`, which is opened from `path`. Links are followed as long as they stay
/// below, absolute ones too: what they point to is looked up on the host first, and opened from the
/// top without following anything, so that a link that is changed meanwhile leads nowhere.
pub(super) fn open(top: impl AsFd, path: &Path, inside: &Path, flags: OFlags) -> Result<OwnedFd> {
    let follow = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match attempt(&top, inside, flags, follow) {
        Err(Errno::XDEV) => {}
        other => return other,
    }
    let real = |path: &Path| {
        fs::canonicalize(path).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    };
    let (real_top, target) = (real(path)?, real(&path.join(inside))?);
    match target.strip_prefix(real_top) {
        Err(_) => Err(Errno::XDEV),
        Ok(inside) if inside.as_os_str().is_empty() => open_plain(top, ".", flags),
        Ok(inside) => open_plain(top, inside, flags),
    }
}

/// Opens a file inside a volume for reading. Does not wait for the other end of a pipe.
pub(crate) fn open_file(volume: &Path, inside: &Path) -> io::Result<File> {
    let top = rustix::fs::open(volume, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(open(&top, volume, inside, flags)?.into())
}

/// Opens `path` below `folder`, if no part of it is a link.
pub(super) fn open_plain(
    folder: impl AsFd,
    path: impl Arg + Copy,
    flags: OFlags,
) -> Result<OwnedFd> {
    attempt(
        folder,
        path,
        flags,
        ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS,
    )
}

/// Opens `path` below `folder`, if no part of it is a link or a mount point.
pub(super) fn open_own(folder: impl AsFd, path: impl Arg + Copy, flags: OFlags) -> Result<OwnedFd> {
    let own = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    attempt(folder, path, flags, own)
}

/// Whether something is mounted on `path`. Only its parent is looked into, so that a mount whose file
/// system is dead is found like any other.
pub(super) fn is_mount_point(path: &Path) -> Result<bool> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(true);
    };
    let found = rustix::fs::open(parent, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .and_then(|parent| open_own(parent, name, OFlags::PATH | OFlags::NOFOLLOW));
    match found {
        Err(Errno::XDEV) => Ok(true),
        Ok(_) | Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error),
    }
}

fn attempt(
    folder: impl AsFd,
    path: impl Arg + Copy,
    flags: OFlags,
    resolve: ResolveFlags,
) -> Result<OwnedFd> {
    for _ in 0..TRIES {
        match openat2(
            folder.as_fd(),
            path,
            flags | OFlags::CLOEXEC,
            Mode::empty(),
            resolve,
        ) {
            Err(Errno::AGAIN) => {}
            other => return other,
        }
    }
    Err(Errno::AGAIN)
}

#[cfg(test)]
mod tests;
