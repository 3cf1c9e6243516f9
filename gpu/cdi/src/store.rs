//! Writing the document where runtimes look for it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::document::Document;

/// Name of the file: that of the kind, with the slash replaced, as the specification advises.
pub const FILE_NAME: &str = "k8s.device-plugin.nvidia.com-gpu.json";

/// A document on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its file.
    pub path: PathBuf,
    /// SHA-256 of its content, lower-case hex.
    pub hash: String,
    /// It was written now; else the file had this content already.
    pub written: bool,
}

/// A document that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It cannot be expressed as JSON.
    #[error("CDI document {path} cannot be encoded")]
    Encode {
        /// Its file.
        path: PathBuf,
        /// Cause.
        #[source]
        source: serde_json::Error,
    },
    /// The file system refused.
    #[error(
        "CDI document {path} cannot be written; free space or fix the permissions of its folder"
    )]
    Write {
        /// Its file.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
}

/// Puts the document into `folder`, which is made if it is missing. The file is replaced in one step, and only
/// when its content differs: runtimes read the folder again at every change.
pub fn store(folder: &Path, document: &Document) -> Result<Stored, StoreError> {
    let path = folder.join(FILE_NAME);
    let mut content = serde_json::to_vec_pretty(document).map_err(|source| StoreError::Encode {
        path: path.clone(),
        source,
    })?;
    content.push(b'\n');
    let hash = Sha256::digest(&content)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    if fs::read(&path).is_ok_and(|old| old == content) {
        return Ok(Stored {
            path,
            hash,
            written: false,
        });
    }
    replace(folder, &path, &content).map_err(|source| StoreError::Write {
        path: path.clone(),
        source,
    })?;
    Ok(Stored {
        path,
        hash,
        written: true,
    })
}

/// The document that was stored there last, if it can be read.
pub fn load(folder: &Path) -> Option<Document> {
    serde_json::from_slice(&fs::read(folder.join(FILE_NAME)).ok()?).ok()
}

fn replace(folder: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    // One writer, so a fixed name is enough; its ending is none that runtimes read.
    let temporary = folder.join(format!(".{FILE_NAME}.new"));
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o644)
        .open(&temporary)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests;
