//! Device nodes as the host has them.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{major, minor};

use crate::document::DeviceNode;
use crate::site::Site;

/// A container may read and write the device; it has the node, so it need not make one.
const PERMISSIONS: &str = "rw";

/// The node `path` (as the container shall see it, below `/dev`) with type and numbers from the host.
/// `NotFound` if it is missing, `InvalidInput` if it is no device.
pub(crate) fn read(site: &Site, path: &str) -> io::Result<DeviceNode> {
    let host = site.dev_root.join(path.trim_start_matches('/'));
    let metadata = fs::metadata(&host)?;
    let kind = kind_of(&metadata)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it is not a device node"))?;
    let host = host.to_string_lossy().into_owned();
    Ok(DeviceNode {
        path: path.to_owned(),
        host_path: (host != path).then_some(host),
        kind: Some(kind.to_owned()),
        major: Some(i64::from(major(metadata.rdev()))),
        minor: Some(i64::from(minor(metadata.rdev()))),
        file_mode: Some(metadata.mode() & 0o777),
        permissions: Some(PERMISSIONS.to_owned()),
        uid: None,
        gid: None,
    })
}

/// Whether the host's node at this path has these numbers.
pub(crate) fn is_same(path: &Path, node: &DeviceNode) -> io::Result<bool> {
    let metadata = fs::metadata(path)?;
    let same = |told: Option<i64>, real: u32| told.is_none_or(|told| told == i64::from(real));
    Ok(
        kind_of(&metadata).is_some_and(|kind| node.kind.as_deref().is_none_or(|told| told == kind))
            && same(node.major, major(metadata.rdev()))
            && same(node.minor, minor(metadata.rdev())),
    )
}

fn kind_of(metadata: &fs::Metadata) -> Option<&'static str> {
    let kind = metadata.file_type();
    match (kind.is_char_device(), kind.is_block_device()) {
        (true, _) => Some("c"),
        (_, true) => Some("b"),
        _ => None,
    }
}
