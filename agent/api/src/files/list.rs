//! Which files there are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Candidates for manifests at `path`, in lexical order: the entries of a folder without those that
/// begin with a dot, or the path itself when it is anything else. Nothing at all gives none, as in
/// the stock kubelet.
pub(super) fn candidates(path: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return Ok(vec![path.to_owned()]),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    }
    let mut paths = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            paths.push(entry.path());
        }
    }
    paths.sort_unstable();
    Ok(paths)
}
