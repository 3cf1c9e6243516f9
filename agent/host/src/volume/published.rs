//! Folders whose files the agent writes: secret, configMap, downwardAPI and projected.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use super::atomic::{self, File, Files};
use super::{Making, VolumeError, beneath, empty_dir, failed, nested, ownership};
use crate::layout::make_folder;

/// Mode of files whose manifest says nothing.
const FILE_MODE: i32 = 0o644;
/// Mode of mount points for volumes inside.
const NESTED_MODE: u32 = 0o755;
/// Mode of a volume on disk, as the stock kubelet gives it. The folder above it is closed, and
/// containers get it read-only.
const VOLUME_MODE: u32 = 0o777;

/// Where a kind of volume lies. What is secret, or small, never reaches a disk (Kubernetes 1.37).
#[derive(Clone, Copy, Debug)]
pub(super) struct Medium {
    plugin: &'static str,
    in_memory: bool,
}

impl Medium {
    pub(super) const SECRET: Self = Self::of("secret", true);
    pub(super) const CONFIG_MAP: Self = Self::of("configmap", false);
    pub(super) const DOWNWARD_API: Self = Self::of("downward-api", true);
    pub(super) const PROJECTED: Self = Self::of("projected", true);

    const fn of(plugin: &'static str, in_memory: bool) -> Self {
        Self { plugin, in_memory }
    }
}

/// A file at a path inside the volume.
pub(super) fn file(
    path: &str,
    content: Vec<u8>,
    mode: Option<i32>,
) -> Result<(PathBuf, File), VolumeError> {
    let wrong = |what: &str| VolumeError::Manifest(format!("file {path:?} of the volume {what}"));
    let mode = u32::try_from(mode.unwrap_or(FILE_MODE)).ok();
    let mode = mode.filter(|mode| *mode <= 0o777);
    let mode = mode.ok_or_else(|| wrong("has a mode that is not between 0 and 0777"))?;
    let inside = inside(path).ok_or_else(|| wrong("would lie outside of it"))?;
    let file = File {
        content,
        mode,
        owner: None,
    };
    Ok((inside, file))
}

/// The path without needless parts. Names that begin with two dots are those of the exchange itself.
fn inside(path: &str) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    let free =
        !plain.as_os_str().is_empty() && !plain.as_os_str().as_encoded_bytes().starts_with(b"..");
    free.then_some(plain)
}

/// Makes `files` the content of the volume, which is made if it is not there.
pub(super) fn publish(
    making: Making<'_>,
    medium: Medium,
    name: &str,
    files: &Files,
) -> Result<PathBuf, VolumeError> {
    check(files)?;
    let path = making.layout.volume(making.uid, medium.plugin, name);
    make_folder(&path).map_err(failed("make", &path))?;
    let prepare = || -> io::Result<()> {
        // Set apart from making it: the umask would take bits away. Those of the group stay.
        let mode = VOLUME_MODE | fs::metadata(&path)?.permissions().mode() & 0o7000;
        fs::set_permissions(&path, Permissions::from_mode(mode))?;
        for folder in nested::folders(making.pod, name) {
            DirBuilder::new()
                .recursive(true)
                .mode(NESTED_MODE)
                .create(path.join(folder))?;
        }
        Ok(())
    };
    if medium.in_memory {
        empty_dir::mount_memory(making, None, &path)?;
    }
    prepare().map_err(failed("make", &path))?;
    let finish = || ownership::give_to_group(making.pod, &path, true);
    atomic::write(&path, files, finish).map_err(failed("write", &path))?;
    Ok(path)
}

/// Where the volume shows a content of earlier.
pub(super) fn last(making: Making<'_>, medium: Medium, name: &str) -> Option<PathBuf> {
    let path = making.layout.volume(making.uid, medium.plugin, name);
    let there = atomic::has_content(&path);
    // On the disk below its memory nothing is shown.
    let mounted = || beneath::is_mount_point(&path).unwrap_or(false);
    (there && (!medium.in_memory || mounted())).then_some(path)
}

/// A path cannot be a file and a folder at once.
fn check(files: &Files) -> Result<(), VolumeError> {
    for path in files.keys() {
        let mut above = path.ancestors().skip(1);
        if let Some(file) = above.find(|above| files.contains_key(*above)) {
            return Err(VolumeError::Wrong(format!(
                "the volume would have {:?} as a file and as the folder of {:?}",
                file.display(),
                path.display()
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
