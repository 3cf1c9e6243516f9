//! Taking away a pod's folder: unmount what is in it, then remove, never across a mount or a link.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, Mode, OFlags, RenameFlags, renameat_with, unlinkat};
use rustix::io::Errno;
use tracing::debug;

use super::unmount::unmount_one;
use super::{VolumeError, beneath, failed};
use crate::mounts;

/// How deep folders are entered. What lies deeper is moved up and emptied there, so that a container
/// cannot make a tree that takes more open files or stack than this process has.
const DEEPEST: usize = 64;

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW);

/// Removes the folder `name` in `parent` with everything in it; gone is removed.
///
/// What is mounted below is unmounted first. The removal itself opens each folder in a way that the
/// kernel refuses for links and mount points, so that a mount that appears meanwhile is an error and
/// never loses a file.
pub(crate) fn remove_tree(parent: &Path, name: &str) -> Result<(), VolumeError> {
    if Path::new(name).file_name() != Some(OsStr::new(name)) {
        return Err(VolumeError::Wrong(format!(
            "{name:?} is no name of a folder"
        )));
    }
    let parent = match parent.canonicalize() {
        Ok(parent) => parent,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed("look at", parent)(error)),
    };
    let path = parent.join(name);
    unmount_below(&path)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent =
        rustix::fs::open(&parent, flags, Mode::empty()).map_err(failed("open", &parent))?;
    let top = match beneath::open_own(&parent, name, FOLDER) {
        Ok(top) => top,
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(failed("open", path)(error)),
    };
    let mut removal = Removal {
        top,
        path: path.clone(),
        moved: 0,
    };
    removal.run().map_err(|stop| stop.at(removal.path))?;
    gone_is_fine(unlinkat(&parent, name, AtFlags::REMOVEDIR)).map_err(failed("remove", path))
}

fn unmount_below(path: &Path) -> Result<(), VolumeError> {
    for mount in mounts::below(path).map_err(failed("read the mounts below", path))? {
        debug!(path = %mount.point.display(), kind = mount.kind, "unmounting");
        match unmount_one(&mount) {
            // Gone meanwhile, with a mount above it.
            Ok(()) | Err(Errno::INVAL | Errno::NOENT) => {}
            Err(error) => return Err(failed("unmount", mount.point)(error)),
        }
    }
    Ok(())
}

/// Removal of everything in one folder.
#[derive(Debug)]
struct Removal {
    top: OwnedFd,
    /// Where it is, and below that where the work goes on.
    path: PathBuf,
    /// Folders that were moved up.
    moved: u64,
}

/// Why a removal stopped, at the path where it did.
#[derive(Debug)]
enum Stop {
    Mount,
    Error(Errno),
}

impl Stop {
    fn at(self, path: PathBuf) -> VolumeError {
        match self {
            Self::Error(error) => failed("remove", path)(error),
            Self::Mount => {
                let path = path.display();
                let message = format!("{path} is a mount point, so it is not removed; unmount it");
                VolumeError::Wrong(message)
            }
        }
    }
}

impl Removal {
    fn run(&mut self) -> Result<(), Stop> {
        let top = self
            .top
            .try_clone()
            .map_err(|_| Stop::Error(Errno::MFILE))?;
        self.empty(&top, 0)
    }

    /// Removes what is in `folder`. Folders that are moved up appear in the top while it is read, so
    /// it is read again until nothing is left.
    fn empty(&mut self, folder: &OwnedFd, depth: usize) -> Result<(), Stop> {
        let mut entries = Dir::read_from(folder).map_err(Stop::Error)?;
        loop {
            let mut found = false;
            while let Some(entry) = entries.read() {
                let entry = entry.map_err(Stop::Error)?;
                let name = entry.file_name();
                if name == c"." || name == c".." {
                    continue;
                }
                found = true;
                self.path.push(OsStr::from_bytes(name.to_bytes()));
                self.remove(folder, name, depth)?;
                self.path.pop();
            }
            if !found {
                return Ok(());
            }
            entries.rewind();
        }
    }

    /// On an error `path` stays at the entry.
    fn remove(&mut self, folder: &OwnedFd, name: &CStr, depth: usize) -> Result<(), Stop> {
        match unlinkat(folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::ISDIR) => {}
            // The kernel does not unlink what something is mounted on.
            Err(Errno::BUSY) => return Err(Stop::Mount),
            Err(error) => return Err(Stop::Error(error)),
        }
        let inner = match beneath::open_own(folder, name, FOLDER) {
            Ok(inner) => inner,
            Err(Errno::NOENT) => return Ok(()),
            Err(Errno::XDEV) => return Err(Stop::Mount),
            Err(error) => return Err(Stop::Error(error)),
        };
        if depth == DEEPEST {
            return self.move_up(folder, name);
        }
        self.empty(&inner, depth + 1)?;
        gone_is_fine(unlinkat(folder, name, AtFlags::REMOVEDIR)).map_err(Stop::Error)
    }

    fn move_up(&mut self, folder: &OwnedFd, name: &CStr) -> Result<(), Stop> {
        loop {
            self.moved += 1;
            let free = CString::new(format!("..deep-{}", self.moved)).unwrap_or_default();
            match renameat_with(folder, name, &self.top, &free, RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => {}
                other => return other.map_err(Stop::Error),
            }
        }
    }
}

fn gone_is_fine(outcome: rustix::io::Result<()>) -> rustix::io::Result<()> {
    match outcome {
        Err(Errno::NOENT) => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests;
