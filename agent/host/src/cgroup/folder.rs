//! A cgroup as a folder of the kernel: what both versions have in common.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::{CgroupError, failed};

/// Writes a file of a cgroup. It is the kernel's: one that is missing is not made.
pub(super) fn write(path: &Path, value: &str) -> Result<(), CgroupError> {
    let written = OpenOptions::new()
        .write(true)
        .open(path)
        .and_then(|mut file| file.write_all(value.as_bytes()));
    written.map_err(|source| CgroupError::Write {
        value: value.to_owned(),
        path: path.to_owned(),
        source,
    })
}

/// Reads a file of a cgroup, without the line end.
pub(super) fn read(path: &Path) -> Result<String, CgroupError> {
    let text = fs::read_to_string(path).map_err(failed("read", path))?;
    Ok(text.trim_end().to_owned())
}

/// Names of the cgroups right below; none if the folder is gone.
pub(super) fn children(folder: &Path) -> Result<Vec<String>, CgroupError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if is_gone(&error) => return Ok(Vec::new()),
        other => other.map_err(failed("list", folder))?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = match entry {
            // The runtime removes cgroups of containers at the same time.
            Err(error) if is_gone(&error) => continue,
            other => other.map_err(failed("list", folder))?,
        };
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    Ok(names)
}

/// Processes in the cgroup and below it.
pub(super) fn processes(folder: &Path) -> Result<Vec<i32>, CgroupError> {
    let mut pids = Vec::new();
    for folder in subtree(folder)? {
        let list = folder.join("cgroup.procs");
        match fs::read_to_string(&list) {
            Ok(text) => pids.extend(text.lines().filter_map(|line| line.parse::<i32>().ok())),
            Err(error) if is_gone(&error) || is_threaded(&error) => {}
            Err(error) => return Err(failed("read", list)(error)),
        }
    }
    Ok(pids)
}

/// Removes the cgroup and those below it. One that is gone is removed.
pub(super) fn remove(folder: &Path) -> Result<(), CgroupError> {
    for folder in subtree(folder)?.iter().rev() {
        match fs::remove_dir(folder) {
            Err(error) if !is_gone(&error) => return Err(failed("remove", folder)(error)),
            _ => {}
        }
    }
    Ok(())
}

/// The folder and all below it, each before those below it. A list instead of recursion: containers
/// that may make cgroups choose how deep they go.
fn subtree(folder: &Path) -> Result<Vec<PathBuf>, CgroupError> {
    let mut found = vec![folder.to_owned()];
    let mut next = 0;
    while let Some(folder) = found.get(next).cloned() {
        found.extend(children(&folder)?.into_iter().map(|name| folder.join(name)));
        next += 1;
    }
    Ok(found)
}

/// `ENOENT`, or `ENODEV` for a file of a cgroup that was removed after it was opened.
pub(super) fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(Errno::NODEV.raw_os_error())
}

/// A threaded cgroup of v2 does not list processes; the domain above it does.
fn is_threaded(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::OPNOTSUPP.raw_os_error())
}
