//! What lies in a CDI folder: documents of this agent and of anybody else.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::document::Document;

/// Endings of the files that runtimes read.
const ENDINGS: [&str; 2] = ["json", "yaml"];

/// Files in a CDI folder that runtimes read, in order of their names.
///
/// # Errors
/// The folder cannot be read.
pub fn document_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        if ending.is_some_and(|ending| ENDINGS.contains(&ending)) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// The document in a file.
///
/// # Errors
/// It cannot be read or is no document; in words that follow the file's name.
pub fn read_document(path: &Path) -> Result<Document, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("cannot be read: {error}"))?;
    if path.extension().is_some_and(|ending| ending == "json") {
        serde_json::from_str(&text).map_err(|error| format!("is no CDI document: {error}"))
    } else {
        serde_saphyr::from_str(&text).map_err(|error| format!("is no CDI document: {error}"))
    }
}
