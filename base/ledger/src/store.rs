//! Writing a record.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::HEADER;

/// A record that could not be written. Retry: the disk may have room again later.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The value cannot be expressed as JSON.
    #[error("record {path} cannot be encoded")]
    Encode {
        /// The record's file.
        path: PathBuf,
        /// Cause.
        #[source]
        source: serde_json::Error,
    },
    /// The file system refused.
    #[error("record {path} cannot be written; free space or fix the permissions of its folder")]
    Write {
        /// The record's file.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
}

/// Replaces the record at `path` by `value` in one step and returns once it is on disk.
///
/// `version` is the version of the value's shape; [`crate::load`] hands it back. The file has mode
/// 0600. A crash at any moment leaves the old or the new record, never a mixture.
pub fn store<T: Serialize>(path: &Path, version: u32, value: &T) -> Result<(), StoreError> {
    let body = serde_json::to_vec(value).map_err(|source| StoreError::Encode {
        path: path.to_owned(),
        source,
    })?;
    replace(path, version, &body).map_err(|source| StoreError::Write {
        path: path.to_owned(),
        source,
    })
}

fn replace(path: &Path, version: u32, body: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // One writer per record (its owner), so a fixed temporary name is enough and leaves no litter.
    let temporary = folder.join(format!(".{name}.new"));
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&temporary)?;
    writeln!(file, "{HEADER} {version} {} {}", body.len(), checksum(body))?;
    file.write_all(body)?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    // The rename itself must survive a power loss too.
    File::open(folder)?.sync_all()
}

/// SHA-256 of the body in lower-case hex.
pub(crate) fn checksum(body: &[u8]) -> String {
    Sha256::digest(body)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
