//! hostPath: a path of the host, checked for what it is.

use std::fs::{self, FileType, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use k8s_openapi::api::core::v1::HostPathVolumeSource;

use super::{VolumeError, failed};

/// What can be at a path, in the words of the stock kubelet: as it is asked for, and as it is found.
const KINDS: [(&str, &str, Test); 5] = [
    ("directory", "Directory", FileType::is_dir),
    ("file", "File", FileType::is_file),
    ("socket file", "Socket", FileTypeExt::is_socket),
    (
        "character device",
        "CharDevice",
        FileTypeExt::is_char_device,
    ),
    ("block device", "BlockDevice", FileTypeExt::is_block_device),
];

/// `hostPath.type`, which kind it asks for, and what is made if nothing is there.
const TYPES: [(&str, &str, Option<Maker>); 7] = [
    ("DirectoryOrCreate", "directory", Some(make_folder)),
    ("Directory", "directory", None),
    ("FileOrCreate", "file", Some(make_file)),
    ("File", "file", None),
    ("Socket", "socket file", None),
    ("CharDevice", "character device", None),
    ("BlockDevice", "block device", None),
];

type Test = fn(&FileType) -> bool;
type Maker = fn(&Path) -> io::Result<()>;

/// Checks the type that the volume names, makes what may be made, and gives the path. Without a type
/// nothing is checked; the runtime makes a missing folder.
pub(super) fn check(source: &HostPathVolumeSource) -> Result<PathBuf, VolumeError> {
    let path = PathBuf::from(&source.path);
    if !path.is_absolute() || path.components().any(|part| part == Component::ParentDir) {
        return Err(VolumeError::Manifest(format!(
            "invalid HostPath `{}`: it must be absolute and must not contain '..'",
            source.path
        )));
    }
    let named = source.type_.as_deref().unwrap_or_default();
    if named.is_empty() {
        return Ok(path);
    }
    let known = TYPES.iter().find(|(name, ..)| *name == named);
    let (_, wanted, maker) = known
        .ok_or_else(|| VolumeError::Manifest(format!("hostPath.type {named:?} does not exist")))?;
    let found = match (fs::metadata(&path), maker) {
        (Err(error), Some(make)) if error.kind() == io::ErrorKind::NotFound => {
            make(&path).map_err(failed("make", &path))?;
            return Ok(path);
        }
        (Err(error), _) => {
            let path = path.display();
            return Err(VolumeError::Wrong(format!(
                "hostPath type check failed, {path} is not a {wanted}, unable to determine its type: {error}"
            )));
        }
        (Ok(metadata), _) => kind(&metadata.file_type()),
    };
    let (kind, found) = found;
    if kind == *wanted {
        return Ok(path);
    }
    let path = path.display();
    Err(VolumeError::Wrong(format!(
        "hostPath type check failed: {path} is not a {wanted}, it's a {found}"
    )))
}

/// Both words for it.
fn kind(file_type: &FileType) -> (&'static str, &'static str) {
    KINDS
        .iter()
        .find(|(.., is)| is(file_type))
        .map_or(("fifo", "fifo"), |(asked, found, _)| (*asked, *found))
}

/// With the folders above it, as the API says.
fn make_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(path)
}

/// Without the folders above it, as the API says.
fn make_file(path: &Path) -> io::Result<()> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o644)
        .open(path)
        .map(drop)
}

#[cfg(test)]
mod tests;
