//! subPath: a part of a volume, bound to a place of its own before the runtime sees it.
//!
//! The runtime gets a mount point that a container cannot change any more. If it got the path inside
//! the volume instead, a container could swap a folder on it for a link to the host.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use agent_core::expand;
use k8s_openapi::api::core::v1::VolumeMount;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fchmod, fstat, mkdirat, statat};
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, mount_bind, unmount};

use super::{VolumeError, beneath, failed};
use crate::layout::make_folder;

/// What to bind where.
#[derive(Debug)]
pub(crate) struct SubPath<'a> {
    /// Host path of the volume.
    pub(crate) volume: &'a Path,
    /// Path inside it.
    pub(crate) inside: PathBuf,
    /// Where it is bound, a path that only the agent writes.
    pub(crate) target: PathBuf,
    /// How an error begins: nothing of the host's file system must show.
    pub(crate) told: String,
}

impl SubPath<'_> {
    /// The path inside the volume that a mount names; `None` if it takes the whole volume.
    pub(crate) fn inside(
        mount: &VolumeMount,
        variables: &BTreeMap<String, String>,
    ) -> Result<Option<PathBuf>, VolumeError> {
        let filled = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let path = match (filled(&mount.sub_path), filled(&mount.sub_path_expr)) {
            (Some(path), _) => path,
            (None, None) => return Ok(None),
            (None, Some(expression)) => {
                let mut missing = BTreeSet::new();
                let path = expand(&expression, |name| {
                    let value = variables.get(name).map(String::as_str);
                    if value.is_none_or(str::is_empty) {
                        missing.insert(name.to_owned());
                    }
                    value
                });
                if !missing.is_empty() {
                    let names: Vec<String> = missing.into_iter().collect();
                    let names = names.join(", ");
                    return Err(VolumeError::Wrong(format!(
                        "missing value for {names} in subPathExpr {expression:?}"
                    )));
                }
                let inside = inside(&path);
                // The value is not shown: it may come from a secret. It may also be another one soon.
                let message =
                    || format!("subPathExpr {expression:?} gives no path inside the volume");
                return inside
                    .map(Some)
                    .ok_or_else(|| VolumeError::Wrong(message()));
            }
        };
        let message = || format!("subPath {path:?} is not a path inside the volume");
        let inside = inside(&path);
        inside
            .map(Some)
            .ok_or_else(|| VolumeError::Manifest(message()))
    }
}

/// `None`: the path leaves the volume, or names nothing.
fn inside(path: &str) -> Option<PathBuf> {
    let path = PathBuf::from(path);
    let outside = path.is_absolute() || path.iter().any(|part| part == "..");
    (!outside && !path.as_os_str().is_empty()).then_some(path)
}

/// Binds the part of the volume to its target. A missing one is made as a folder with the mode of the
/// volume's top. Repeatable: an older bind is replaced when it shows something else.
pub(crate) fn bind(sub_path: &SubPath<'_>) -> Result<(), VolumeError> {
    mount_on(&sub_path.target, &open_source(sub_path)?)
}

/// Mounts what was opened, whatever its path shows by now.
fn mount_on(target: &Path, source: &OwnedFd) -> Result<(), VolumeError> {
    if beneath::is_mount_point(target).map_err(failed("look at", target))? {
        if is_same(source, target) {
            return Ok(());
        }
        // Not waiting for a file system that does not answer any more.
        unmount(target, UnmountFlags::NOFOLLOW | UnmountFlags::DETACH)
            .map_err(failed("unmount", target))?;
    }
    make_target(source, target).map_err(failed("make", target))?;
    mount_bind(format!("/proc/self/fd/{}", source.as_raw_fd()), target)
        .map_err(failed("bind", target))
}

fn open_source(sub_path: &SubPath<'_>) -> Result<OwnedFd, VolumeError> {
    let volume = sub_path.volume;
    let top = rustix::fs::open(volume, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .map_err(failed("open", volume))?;
    let source = match beneath::open(&top, volume, &sub_path.inside, OFlags::PATH) {
        Err(Errno::NOENT) => make_inside(top, volume, &sub_path.inside),
        other => other,
    };
    source.map_err(|error| match error {
        Errno::XDEV | Errno::LOOP => VolumeError::Wrong(format!(
            "{}: it leads out of its volume, or to nothing",
            sub_path.told
        )),
        error => VolumeError::Wrong(format!("{}: {error}", sub_path.told)),
    })
}

/// Makes the folders of `inside` that are missing, with the mode of the top, and opens the last one.
fn make_inside(top: OwnedFd, volume: &Path, inside: &Path) -> rustix::io::Result<OwnedFd> {
    let mode = Mode::from_raw_mode(fstat(&top)?.st_mode & 0o7777);
    let parts: Vec<&OsStr> = inside.iter().filter(|part| *part != ".").collect();
    // Links in the part that is there may lead anywhere below the top, so it is opened from the top.
    let mut folder = beneath::open(&top, volume, Path::new("."), OFlags::PATH)?;
    let mut there = 0;
    for count in 1..=parts.len() {
        let path: PathBuf = parts.iter().take(count).collect();
        match beneath::open(&top, volume, &path, OFlags::PATH) {
            Ok(next) => (folder, there) = (next, count),
            Err(Errno::NOENT) => break,
            Err(error) => return Err(error),
        }
    }
    // From here on each step is one entry of an open folder, and none is a link.
    for part in parts.into_iter().skip(there) {
        let made = match mkdirat(&folder, part, mode) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(error) => return Err(error),
        };
        folder = beneath::open_plain(&folder, part, OFlags::RDONLY | OFlags::DIRECTORY)?;
        if made {
            // The umask took bits away.
            fchmod(&folder, mode)?;
        }
    }
    Ok(folder)
}

/// A mount needs a target of its own kind: a folder for a folder, a file for anything else.
fn make_target(source: &OwnedFd, target: &Path) -> io::Result<()> {
    let is_folder = FileType::from_raw_mode(fstat(source)?.st_mode) == FileType::Directory;
    match fs::symlink_metadata(target) {
        Ok(found) if found.is_dir() == is_folder => return Ok(()),
        // What is bound has become something else since the last time.
        Ok(found) if found.is_dir() => fs::remove_dir(target)?,
        Ok(_) => fs::remove_file(target)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    if is_folder {
        return make_folder(target);
    }
    if let Some(parent) = target.parent() {
        make_folder(parent)?;
    }
    fs::File::create_new(target).map(drop)
}

fn is_same(source: &OwnedFd, target: &Path) -> bool {
    let bound = statat(CWD, target, AtFlags::SYMLINK_NOFOLLOW);
    let (Ok(bound), Ok(source)) = (bound, fstat(source)) else {
        return false;
    };
    (bound.st_dev, bound.st_ino) == (source.st_dev, source.st_ino)
}

#[cfg(test)]
mod tests;
