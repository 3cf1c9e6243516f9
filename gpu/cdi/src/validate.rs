//! Checking documents: those of this agent and those of anybody else in a CDI folder.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::document::{Document, Edits};
use crate::folder::{document_files, read_document};
use crate::node;

/// Versions of the specification that the checks know.
const VERSIONS: &[&str] = &[
    "0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0",
];

/// What is wrong with one file; nothing if `problems` is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileReport {
    /// The file.
    pub path: PathBuf,
    /// Kind of its devices, if it could be read.
    pub kind: String,
    /// Its version.
    pub version: String,
    /// Names of its devices.
    pub devices: Vec<String>,
    /// Problems, each in words.
    pub problems: Vec<String>,
}

/// Checks every document in a CDI folder, in order of file names.
///
/// # Errors
/// The folder cannot be read. A file that cannot be is a problem in its report.
pub fn validate(folder: &Path) -> io::Result<Vec<FileReport>> {
    let paths = document_files(folder)?;
    let mut reports: Vec<FileReport> = paths.into_iter().map(check_file).collect();
    find_doubles(&mut reports);
    Ok(reports)
}

/// Host paths that the document needs and that do not exist, or no longer with the numbers it says.
pub fn missing_host_paths(document: &Document) -> Vec<PathBuf> {
    let mut missing: Vec<PathBuf> = document.all_edits().flat_map(missing_of).collect();
    missing.sort();
    missing.dedup();
    missing
}

fn missing_of(edits: &Edits) -> Vec<PathBuf> {
    let exists = |path: &&PathBuf| !path.exists();
    let mounts = edits
        .mounts
        .iter()
        .map(|mount| PathBuf::from(&mount.host_path));
    let hooks = edits.hooks.iter().map(|hook| PathBuf::from(&hook.path));
    let mut missing: Vec<PathBuf> = mounts
        .chain(hooks)
        .collect::<Vec<_>>()
        .iter()
        .filter(exists)
        .cloned()
        .collect();
    for node in &edits.device_nodes {
        let path = PathBuf::from(node.host_path.as_ref().unwrap_or(&node.path));
        if !node::is_same(&path, node).unwrap_or(false) {
            missing.push(path);
        }
    }
    missing
}

fn check_file(path: PathBuf) -> FileReport {
    match read_document(&path) {
        Ok(document) => FileReport {
            problems: check(&document),
            kind: document.kind.clone(),
            version: document.cdi_version.clone(),
            devices: document
                .devices
                .into_iter()
                .map(|device| device.name)
                .collect(),
            path,
        },
        Err(problem) => FileReport {
            path,
            problems: vec![problem],
            ..FileReport::default()
        },
    }
}

fn check(document: &Document) -> Vec<String> {
    let mut problems = Vec::new();
    let place = |version: &str| VERSIONS.iter().position(|known| *known == version);
    match place(&document.cdi_version) {
        None => problems.push(format!(
            "cdiVersion {:?} is not known",
            document.cdi_version
        )),
        Some(told) => {
            let lowest = document.lowest_version();
            if place(lowest).is_some_and(|lowest| told < lowest) {
                let told = &document.cdi_version;
                problems.push(format!(
                    "cdiVersion is {told}, but its content needs {lowest}"
                ));
            }
        }
    }
    if !is_kind(&document.kind) {
        problems.push(format!("kind {:?} is not vendor/class", document.kind));
    }
    for device in &document.devices {
        if !is_device_name(&device.name) {
            problems.push(format!("{:?} cannot be the name of a device", device.name));
        }
        if document
            .devices
            .iter()
            .filter(|other| other.name == device.name)
            .count()
            > 1
        {
            problems.push(format!("device {} is listed twice", device.name));
        }
    }
    problems.dedup();
    for path in missing_host_paths(document) {
        problems.push(format!(
            "{} is missing on the host, or another device",
            path.display()
        ));
    }
    problems
}

/// Adds a problem to every file that has a device of another file too: runtimes resolve neither.
fn find_doubles(reports: &mut [FileReport]) {
    let mut owners: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for report in reports.iter() {
        for device in &report.devices {
            let name = format!("{}={device}", report.kind);
            let files = owners.entry(name).or_default();
            if !files.contains(&report.path) {
                files.push(report.path.clone());
            }
        }
    }
    for (name, files) in owners.into_iter().filter(|(_, files)| files.len() > 1) {
        for report in reports
            .iter_mut()
            .filter(|report| files.contains(&report.path))
        {
            let others = files.iter().filter(|file| **file != report.path);
            let others: Vec<_> = others.map(|file| file.display().to_string()).collect();
            report
                .problems
                .push(format!("{name} is also in {}", others.join(", ")));
        }
    }
}

/// `vendor/class`, both of letters, digits, `-`, `_` and `.`, beginning with a letter.
fn is_kind(kind: &str) -> bool {
    let part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic())
            && part.ends_with(|c: char| c.is_ascii_alphanumeric())
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    kind.split_once('/')
        .is_some_and(|(vendor, class)| part(vendor) && part(class))
}

/// Letters, digits, `-`, `_`, `.` and `:`, beginning and ending with a letter or digit.
fn is_device_name(name: &str) -> bool {
    let edge = |c: char| c.is_ascii_alphanumeric();
    name.starts_with(edge)
        && name.ends_with(edge)
        && name.chars().all(|c| edge(c) || "-_.:".contains(c))
}

#[cfg(test)]
mod tests;
