//! The work tree.

use std::fs;
use std::path::{Path, PathBuf};

/// One file, with its path relative to the root.
#[derive(Debug)]
pub struct SourceFile {
    /// For instance `agent/core/src/lib.rs`.
    pub path: String,
    /// Content.
    pub text: String,
}

impl SourceFile {
    /// Tests, benches and examples: rules about production code do not apply.
    pub fn is_test(&self) -> bool {
        let parts: Vec<&str> = self.path.split('/').collect();
        parts
            .iter()
            .any(|part| matches!(*part, "tests" | "benches" | "examples" | "tests.rs"))
    }
}

/// Root of the work tree.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files whose name ends in one of `endings`, sorted by path. Build output, hidden folders and
/// downloaded modules are left out.
pub fn sources(endings: &[&str]) -> Vec<SourceFile> {
    let mut found = Vec::new();
    walk(&root(), "", endings, &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn walk(folder: &Path, prefix: &str, endings: &[&str], found: &mut Vec<SourceFile>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let path = if prefix.is_empty() {
            name.clone()
        } else {
            format!("{prefix}/{name}")
        };
        if kind.is_dir() && !name.starts_with('.') && name != "target" && name != "node_modules" {
            walk(&entry.path(), &path, endings, found);
        } else if kind.is_file() && endings.iter().any(|ending| name.ends_with(ending)) {
            // A file that is no text is none of ours.
            if let Ok(text) = fs::read_to_string(entry.path()) {
                found.push(SourceFile { path, text });
            }
        }
    }
}
