//! Contents of a volume that are exchanged in one step.
//!
//! As in the stock kubelet: the files lie in a hidden folder of their own, `..data` links to it, and
//! each visible name links through `..data`. A new content is another hidden folder and one rename of
//! the link, so that a reader sees the old or the new content, never a mixture.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{
    DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown, symlink,
};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

/// Link to the present content.
const DATA: &str = "..data";
/// Link before it takes that name.
const NEW_DATA: &str = "..data_tmp";
/// Mode of folders, as far as the umask leaves it.
const FOLDER: u32 = 0o755;

/// One file. `Debug` does not show its content, which may be secret.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct File {
    pub(super) content: Vec<u8>,
    /// Permission bits.
    pub(super) mode: u32,
    /// User that it belongs to; `None`: the agent's.
    pub(super) owner: Option<u32>,
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File")
            .field("bytes", &self.content.len())
            .field("mode", &self.mode)
            .field("owner", &self.owner)
            .finish()
    }
}

/// Files by their path inside the volume.
pub(super) type Files = BTreeMap<PathBuf, File>;

/// Makes `files` the content of `volume`. `finish` runs when a new content is written and nobody has
/// seen it. What an earlier call that broke off has left is finished or taken away.
pub(super) fn write(
    volume: &Path,
    files: &Files,
    finish: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    let present = fs::read_link(volume.join(DATA)).ok();
    let present = present.filter(|present| is_same(&volume.join(present), files));
    let hidden = match present {
        Some(present) => volume.join(present),
        None => publish(volume, files, finish)?,
    };
    link_names(volume, files)?;
    for entry in fs::read_dir(volume)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        if name.starts_with(b"..") && name != DATA.as_bytes() && path != hidden {
            remove(&path)?;
        }
    }
    Ok(())
}

/// Whether something was published in `volume`.
pub(super) fn has_content(volume: &Path) -> bool {
    volume.join(DATA).is_dir()
}

/// Makes a folder of the new content and the present one of it. A folder that cannot be finished is
/// taken away: the next try makes another, and memory is scarce.
fn publish(
    volume: &Path,
    files: &Files,
    finish: impl FnOnce() -> io::Result<()>,
) -> io::Result<PathBuf> {
    // Such as ..2026_11_30_12_46_01.123456789, as the stock kubelet names them.
    let name = Timestamp::now()
        .strftime("..%Y_%m_%d_%H_%M_%S.%9f")
        .to_string();
    let hidden = volume.join(&name);
    DirBuilder::new().mode(FOLDER).create(&hidden)?;
    let exchange = || -> io::Result<()> {
        fs::set_permissions(&hidden, Permissions::from_mode(FOLDER))?;
        fill(&hidden, files)?;
        finish()?;
        let new_link = volume.join(NEW_DATA);
        remove(&new_link)?;
        symlink(name, &new_link)?;
        fs::rename(&new_link, volume.join(DATA))
    };
    match exchange() {
        Ok(()) => Ok(hidden),
        Err(error) => {
            // What went wrong first counts.
            let _ = remove(&hidden);
            Err(error)
        }
    }
}

fn fill(folder: &Path, files: &Files) -> io::Result<()> {
    for (name, file) in files {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            DirBuilder::new()
                .recursive(true)
                .mode(FOLDER)
                .create(parent)?;
        }
        let mut options = OpenOptions::new();
        let mut written = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        written.write_all(&file.content)?;
        // Set apart from making it: the umask would take bits away.
        written.set_permissions(Permissions::from_mode(file.mode))?;
        if file.owner.is_some() {
            fchown(&written, file.owner, None)?;
        }
    }
    Ok(())
}

/// Links each first part of a path through `..data`, and takes away the links of names that are gone.
fn link_names(volume: &Path, files: &Files) -> io::Result<()> {
    let first = |path: &PathBuf| path.iter().next().map(PathBuf::from);
    let wanted: BTreeSet<PathBuf> = files.keys().filter_map(first).collect();
    for name in &wanted {
        let (link, target) = (volume.join(name), Path::new(DATA).join(name));
        if fs::read_link(&link).is_ok_and(|present| present == target) {
            continue;
        }
        remove(&link)?;
        symlink(target, link)?;
    }
    for entry in fs::read_dir(volume)? {
        let entry = entry?;
        let name = entry.file_name();
        let visible = !name.as_encoded_bytes().starts_with(b"..");
        if visible && !wanted.contains(Path::new(&name)) && entry.file_type()?.is_symlink() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Removes whatever is at the path. The agent made it, so no container has put links into it.
fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn is_same(folder: &Path, files: &Files) -> bool {
    let same = |(name, file): (&PathBuf, &File)| {
        let path = folder.join(name);
        let rights = |found: fs::Metadata| {
            // A group may have been given bits on top.
            found.mode() & file.mode == file.mode && found.uid() == file.owner.unwrap_or_else(agent)
        };
        fs::metadata(&path).is_ok_and(rights)
            && fs::read(&path).is_ok_and(|content| content == file.content)
    };
    count(folder).is_ok_and(|count| count == files.len()) && files.iter().all(same)
}

/// Whose files are that belong to nobody else.
fn agent() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn count(folder: &Path) -> io::Result<usize> {
    let mut files = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        files += if entry.file_type()?.is_dir() {
            count(&entry.path())?
        } else {
            1
        };
    }
    Ok(files)
}

#[cfg(test)]
mod tests;
