//! A folder that stands for `/`: links inside it lead to places inside it, whatever they say.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, mkdirat, openat, readlinkat};
use rustix::io::Errno;

/// Links that are followed in one path, as many as the kernel follows.
const LINK_LIMIT: usize = 40;
/// Folders that are made are readable by everybody, as those of an image are.
const FOLDER_MODE: u32 = 0o755;

/// A folder that stands for `/`.
///
/// Every step opens one name relative to an open folder and follows no link by itself; links are read and
/// walked by hand. So nobody who changes the tree meanwhile can lead a step outside. (`openat2` could do it
/// in one call, but kernels before 5.6 lack it.)
#[derive(Debug)]
pub(crate) struct Root {
    top: OwnedFd,
}

/// What a path led to.
#[derive(Debug)]
pub(crate) struct Found {
    /// Opened for its path only.
    pub(crate) file: OwnedFd,
    /// What it is.
    pub(crate) kind: FileType,
}

impl Root {
    /// Opens the folder.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self {
            top: openat(CWD, path, flags, Mode::empty())?,
        })
    }

    /// What `path` leads to inside the root.
    pub(crate) fn find(&self, path: &Path) -> io::Result<Found> {
        self.walk(path, false)
    }

    /// The folder at `path`; missing ones are made.
    pub(crate) fn make_folders(&self, path: &Path) -> io::Result<OwnedFd> {
        let found = self.walk(path, true)?;
        if found.kind == FileType::Directory {
            Ok(found.file)
        } else {
            Err(Errno::NOTDIR.into())
        }
    }

    /// The path outside, free of links, of what `path` leads to inside.
    pub(crate) fn outside(&self, path: &Path) -> io::Result<PathBuf> {
        let found = self.find(path)?;
        fs::read_link(format!("/proc/self/fd/{}", found.file.as_raw_fd()))
    }

    fn walk(&self, path: &Path, make: bool) -> io::Result<Found> {
        let mut stack = vec![self.top.try_clone()?];
        let mut steps = names(path);
        let mut links = 0;
        while let Some(step) = steps.pop_front() {
            let Some(folder) = stack.last() else { break };
            if step == OsStr::new("..") {
                // The root is its own parent.
                if stack.len() > 1 {
                    stack.pop();
                }
                continue;
            }
            let found = enter(folder, &step, make)?;
            match found.kind {
                FileType::Symlink => {
                    links += 1;
                    if links > LINK_LIMIT {
                        return Err(Errno::LOOP.into());
                    }
                    let target = readlinkat(&found.file, "", Vec::new())?.into_bytes();
                    let target = PathBuf::from(OsString::from_vec(target));
                    if target.is_absolute() {
                        stack.truncate(1);
                    }
                    for name in names(&target).into_iter().rev() {
                        steps.push_front(name);
                    }
                }
                FileType::Directory => stack.push(found.file),
                _ if steps.is_empty() => return Ok(found),
                _ => return Err(Errno::NOTDIR.into()),
            }
        }
        let file = stack.pop().ok_or(Errno::NOENT)?;
        Ok(Found {
            file,
            kind: FileType::Directory,
        })
    }
}

/// Opens one name without following it.
fn enter(folder: &OwnedFd, name: &OsStr, make: bool) -> io::Result<Found> {
    let open = || {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(folder, name, flags, Mode::empty())
    };
    let file = match open() {
        Err(Errno::NOENT) if make => {
            match mkdirat(folder, name, Mode::from_raw_mode(FOLDER_MODE)) {
                Ok(()) | Err(Errno::EXIST) => open()?,
                Err(error) => return Err(error.into()),
            }
        }
        other => other?,
    };
    let kind = FileType::from_raw_mode(fstat(&file)?.st_mode);
    Ok(Found { file, kind })
}

fn names(path: &Path) -> VecDeque<OsString> {
    let name = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(name).collect()
}

#[cfg(test)]
mod tests;
