//! fsGroup: volumes of a pod belong to its group. And whose the pod's credentials are.
//!
//! Folders are walked by open descriptors of one file system, so that a link that appears meanwhile is
//! never followed and a mount never entered.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use k8s_openapi::api::core::v1::{Pod, SecurityContext};
use rustix::fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, chownat, fstat, open, openat};
use rustix::io::Errno;
use tracing::{debug, warn};

use super::beneath;

/// Bits that the group gets: read and write, on folders also enter, and new files keep the group.
const WRITABLE: u32 = 0o660;
const READABLE: u32 = 0o440;
const ENTER: u32 = 0o110;
const KEEP_GROUP: u32 = 0o2000;
/// Deepest folder that is looked into: each level takes open files and stack of this process.
const DEEPEST: usize = 512;

/// Gives everything at `path` to the pod's `fsGroup`, if it has one. For volumes that the agent fills or
/// makes; for these `fsGroupChangePolicy` does not count (Kubernetes API).
pub(super) fn give_to_group(pod: &Pod, path: &Path, read_only: bool) -> io::Result<()> {
    match group(pod) {
        Some(group) => Gift {
            group,
            read_only,
            strict: true,
        }
        .give_all(path),
        None => Ok(()),
    }
}

/// The same for a volume that was there before the pod, unless the pod only wants what lies on top
/// (`OnRootMismatch`) and the top is right. As in the stock kubelet, a file that cannot be changed is
/// logged and left: the file system may not know of groups.
pub(super) fn give_existing_to_group(pod: &Pod, path: &Path) -> io::Result<()> {
    let Some(group) = group(pod) else {
        return Ok(());
    };
    let spec = pod.spec.as_ref();
    let context = spec.and_then(|spec| spec.security_context.as_ref());
    let policy = context.and_then(|context| context.fs_group_change_policy.as_deref());
    if policy == Some("OnRootMismatch") && is_given(path, group)? {
        debug!(path = %path.display(), "the top of the volume belongs to the group already");
        return Ok(());
    }
    let gift = Gift {
        group,
        read_only: false,
        strict: false,
    };
    gift.give_all(path)
}

fn is_given(top: &Path, group: u32) -> io::Result<bool> {
    let found = rustix::fs::stat(top)?;
    let bits = folder_bits(false);
    let folder = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
    Ok(folder && found.st_gid == group && found.st_mode & bits == bits)
}

/// The pod's `fsGroup`.
pub(super) fn group(pod: &Pod) -> Option<u32> {
    let context = pod.spec.as_ref()?.security_context.as_ref()?;
    context.fs_group.and_then(|group| u32::try_from(group).ok())
}

/// The user that all containers of the pod run as, if the manifest says so for each of them (Kubernetes
/// 1.37).
pub(super) fn only_user(pod: &Pod) -> Option<u32> {
    let spec = pod.spec.as_ref()?;
    let of_pod = spec.security_context.as_ref();
    let of_pod = of_pod.and_then(|context| context.run_as_user);
    let plain = spec
        .init_containers
        .iter()
        .flatten()
        .chain(&spec.containers)
        .map(|each| &each.security_context);
    let ephemeral = spec.ephemeral_containers.iter().flatten();
    let ephemeral = ephemeral.map(|each| &each.security_context);
    let user = |context: &Option<SecurityContext>| {
        let own = context.as_ref().and_then(|context| context.run_as_user);
        own.or(of_pod)
    };
    let mut users = plain.chain(ephemeral).map(user);
    let first = users.next()??;
    users
        .all(|user| user == Some(first))
        .then(|| u32::try_from(first).ok())?
}

/// Bits that a folder of the group has at least.
pub(super) fn folder_bits(read_only: bool) -> u32 {
    ENTER | KEEP_GROUP | file_bits(read_only)
}

fn file_bits(read_only: bool) -> u32 {
    if read_only { READABLE } else { WRITABLE }
}

/// What is given to whom.
#[derive(Clone, Copy, Debug)]
struct Gift {
    group: u32,
    read_only: bool,
    /// What cannot be changed is an error.
    strict: bool,
}

impl Gift {
    fn give_all(self, path: &Path) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let top = open(path, flags, Mode::empty())?;
        self.give(&top, 0)
    }

    /// What is inside comes first, so that the top shows whether all of it was done.
    fn give(self, entry: &OwnedFd, depth: usize) -> io::Result<()> {
        let found = fstat(entry)?;
        let kind = FileType::from_raw_mode(found.st_mode);
        if kind == FileType::Directory {
            if depth == DEEPEST {
                return Err(io::Error::other(format!(
                    "folders are nested more than {DEEPEST} times, so that fsGroup cannot be applied"
                )));
            }
            self.give_inside(entry, depth)?;
        }
        match self.change(entry, kind, found.st_mode) {
            Err(error) if !self.strict => {
                warn!(%error, group = self.group, "a file of a volume cannot be given to the pod's group");
                Ok(())
            }
            outcome => outcome,
        }
    }

    fn give_inside(self, folder: &OwnedFd, depth: usize) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(folder, ".", flags, Mode::empty())?;
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            match beneath::open_own(&folder, name, OFlags::PATH | OFlags::NOFOLLOW) {
                Ok(inner) => self.give(&inner, depth + 1)?,
                // Gone meanwhile, or another file system, which is not part of the volume.
                Err(Errno::NOENT | Errno::XDEV) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn change(self, entry: &OwnedFd, kind: FileType, mode: u32) -> io::Result<()> {
        let group = Some(Gid::from_raw(self.group));
        chownat(entry, "", None, group, AtFlags::EMPTY_PATH)?;
        let bits = match kind {
            // It has no mode of its own.
            FileType::Symlink => return Ok(()),
            FileType::Directory => folder_bits(self.read_only),
            _ => file_bits(self.read_only),
        };
        let path = format!("/proc/self/fd/{}", entry.as_raw_fd());
        fs::set_permissions(path, Permissions::from_mode(mode & 0o7777 | bits))
    }
}

#[cfg(test)]
mod tests;
