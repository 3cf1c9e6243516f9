//! fsGroup: volumes of a pod belong to its group.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use k8s_openapi::api::core::v1::Pod;
use rustix::fs::{AtFlags, CWD, Gid, chownat};

/// Bits that the group gets: read and write, on folders also enter, and new files keep the group.
const WRITABLE: u32 = 0o660;
const READABLE: u32 = 0o440;
const ENTER: u32 = 0o110;
const KEEP_GROUP: u32 = 0o2000;

/// Gives everything at `path` to the pod's `fsGroup`, if it has one. Only for folders that no
/// container has written to: what is found in them is taken for what it is. For these kinds of volume
/// `fsGroupChangePolicy` does not count (Kubernetes API).
pub(super) fn give_to_group(pod: &Pod, path: &Path, read_only: bool) -> io::Result<()> {
    match group(pod) {
        Some(group) => give(path, group, read_only),
        None => Ok(()),
    }
}

/// The pod's `fsGroup`.
pub(super) fn group(pod: &Pod) -> Option<u32> {
    let context = pod.spec.as_ref()?.security_context.as_ref()?;
    context.fs_group.and_then(|group| u32::try_from(group).ok())
}

/// Bits that a folder of the group has at least.
pub(super) fn folder_bits(read_only: bool) -> u32 {
    ENTER | KEEP_GROUP | file_bits(read_only)
}

fn file_bits(read_only: bool) -> u32 {
    if read_only { READABLE } else { WRITABLE }
}

fn give(path: &Path, group: u32, read_only: bool) -> io::Result<()> {
    let metadata = fs::symlink_metadata(path)?;
    if metadata.is_dir() {
        for entry in fs::read_dir(path)? {
            give(&entry?.path(), group, read_only)?;
        }
    }
    chownat(
        CWD,
        path,
        None,
        Some(Gid::from_raw(group)),
        AtFlags::SYMLINK_NOFOLLOW,
    )?;
    // A link has no mode of its own, and setting it would change what it points to.
    if metadata.is_symlink() {
        return Ok(());
    }
    let bits = if metadata.is_dir() {
        folder_bits(read_only)
    } else {
        file_bits(read_only)
    };
    fs::set_permissions(
        path,
        fs::Permissions::from_mode(metadata.mode() & 0o7777 | bits),
    )
}
