//! Rules on single files.

use crate::tree::SourceFile;

/// Longest production file.
const FILE_LINES: usize = 400;
/// Longest crate root: it is a contents page.
const ROOT_LINES: usize = 120;

/// Words that hide what a thing is.
const EMPTY_WORDS: &[&str] = &["Manager", "Helper", "Util", "Utils", "Common", "Impl"];

/// Files over the limit, except those in `allowed` (path and reason).
pub fn check_lengths(files: &[SourceFile], allowed: &[(&str, &str)]) -> Vec<String> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| !file.is_test()) {
        let lines = production_lines(&file.text);
        let limit = if file.path.ends_with("src/lib.rs") {
            ROOT_LINES
        } else {
            FILE_LINES
        };
        let excused = allowed.iter().any(|(path, _)| *path == file.path);
        if lines > limit && !excused {
            findings.push(format!(
                "{}: {lines} lines, at most {limit}: split it",
                file.path
            ));
        }
        if lines <= limit && excused {
            findings.push(format!(
                "{}: {lines} lines: take it off the exceptions",
                file.path
            ));
        }
    }
    findings
}

/// Lines up to an inline test module.
fn production_lines(text: &str) -> usize {
    text.lines()
        .zip(text.lines().skip(1).chain([""]))
        .take_while(|(line, next)| {
            !(line.trim() == "#[cfg(test)]" && next.trim_start().starts_with("mod tests {"))
        })
        .count()
}

/// Files that do not say what they are for.
pub fn check_module_docs(files: &[SourceFile]) -> Vec<String> {
    files
        .iter()
        .filter(|file| !file.is_test())
        .filter(|file| !file.text.trim_start().starts_with("//!"))
        .map(|file| {
            format!(
                "{}: begin with a `//!` line that says what it is for",
                file.path
            )
        })
        .collect()
}

/// Types with names that say nothing.
pub fn check_names(files: &[SourceFile]) -> Vec<String> {
    let mut findings = Vec::new();
    for file in files {
        for (number, line) in file.text.lines().enumerate() {
            let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            let Some(_) = words.find(|word| matches!(*word, "struct" | "enum" | "trait" | "type"))
            else {
                continue;
            };
            let Some(name) = words.find(|word| !word.is_empty()) else {
                continue;
            };
            let declared = line.trim_start().starts_with("pub") || !line.starts_with(' ');
            if declared && EMPTY_WORDS.iter().any(|word| name.ends_with(word)) {
                findings.push(format!("{}:{}: {name} says nothing", file.path, number + 1));
            }
        }
    }
    findings
}

/// Dependencies declared without their reason.
pub fn check_comments_on_dependencies(manifests: &[SourceFile]) -> Vec<String> {
    let mut findings = Vec::new();
    for manifest in manifests.iter().filter(|file| file.path != "Cargo.toml") {
        let mut in_dependencies = false;
        for line in manifest.text.lines() {
            if line.starts_with('[') {
                in_dependencies = line.ends_with("dependencies]");
            } else if in_dependencies && line.contains('=') && !line.contains('#') {
                findings.push(format!("{}: say why: {line}", manifest.path));
            }
        }
    }
    findings
}
