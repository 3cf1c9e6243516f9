//! Paths that documents name must exist.

use std::path::Path;

use crate::tree::SourceFile;

/// Documents that name a file or folder of this repository that is not there.
///
/// A path is text between backticks, or a link's target, that contains a slash or ends like a file of
/// ours, and that has none of the characters of a command, a pattern or a placeholder.
pub fn check_paths(root: &Path, documents: &[SourceFile]) -> Vec<String> {
    let mut findings = Vec::new();
    for document in documents {
        let folder = Path::new(&document.path).parent().unwrap_or(Path::new(""));
        for candidate in candidates(&document.text) {
            let exists =
                root.join(&candidate).exists() || root.join(folder).join(&candidate).exists();
            if !exists {
                findings.push(format!(
                    "{}: names {candidate}, which is not there",
                    document.path
                ));
            }
        }
    }
    findings
}

fn candidates(text: &str) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    let linked = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    quoted
        .chain(linked)
        .filter(|word| is_path(word))
        .map(str::to_owned)
        .collect()
}

/// Top-level folders of the repository: only what begins with one of them is meant as a path in it.
const ROOMS: &[&str] = &[
    "agent/",
    "base/",
    "deploy/",
    "deviceplugin/",
    "docs/",
    "dra/",
    "e2e/",
    "gpu/",
    "gpuctl/",
    "proto/",
    "scripts/",
    "systemd/",
    ".ci/",
];

fn is_path(word: &str) -> bool {
    let plain = word
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
    plain && (ROOMS.iter().any(|room| word.starts_with(room)) || word.ends_with(".md"))
}
