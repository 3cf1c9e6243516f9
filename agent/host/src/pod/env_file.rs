//! Values of variables in files of volumes (`fileKeyRef`).
//!
//! The format is a narrow part of what shells read (Kubernetes 1.37): `NAME='value'`, the value literally
//! and over as many lines as it takes, comments, blank lines.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use agent_core::Fail;
use agent_loops::ports::PreparedPod;
use k8s_openapi::api::core::v1::{Container, FileKeySelector};

use crate::volume;

/// Most of a file that is read: a container writes it.
const LIMIT: u64 = 1 << 20;

/// What the stock kubelet says for every file that cannot be read.
const UNREADABLE: &str = "couldn't parse env file";

/// The values that the container's variables have from files, by variable. `None`: no such key.
pub(crate) fn values(
    container: &Container,
    prepared: &PreparedPod,
) -> BTreeMap<String, Result<Option<String>, Fail>> {
    let variables = container.env.iter().flatten();
    let from_files = variables.filter_map(|variable| {
        let file = variable.value_from.as_ref()?.file_key_ref.as_ref()?;
        Some((variable.name.clone(), value(file, &prepared.volumes)))
    });
    from_files.collect()
}

fn value(
    file: &FileKeySelector,
    volumes: &BTreeMap<String, PathBuf>,
) -> Result<Option<String>, Fail> {
    let fail = |message: String| Fail::retry("CreateContainerConfigError", message);
    let volume = volumes.get(&file.volume_name).ok_or_else(|| {
        let name = &file.volume_name;
        fail(format!(
            "cannot find the volume {name:?} referenced by FileKeyRef"
        ))
    })?;
    let told = |why: String| {
        fail(format!(
            "{UNREADABLE}: {:?} of volume {:?}: {why}",
            file.path, file.volume_name
        ))
    };
    let text = read(volume, Path::new(&file.path)).map_err(|error| told(error.to_string()))?;
    find(&text, &file.key).map_err(|error| told(error.to_string()))
}

fn read(volume: &Path, path: &Path) -> io::Result<String> {
    let file: File = volume::open_file(volume, path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut bytes = Vec::new();
    file.take(LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LIMIT {
        return Err(io::Error::other("it is larger than 1 MiB"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A line that cannot be read. Says nothing of what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}")]
struct BadLine {
    line: usize,
    why: &'static str,
}

/// The first value of `key`. What stands after it is not looked at, what stands before it has to be right.
fn find(text: &str, key: &str) -> Result<Option<String>, BadLine> {
    let mut lines = text.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        let bad = |why| BadLine { line: number, why };
        let line = line.trim_start_matches([' ', '\t']);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, value) = line.split_once('=').ok_or(bad("there is no ="))?;
        match name.trim_end_matches([' ', '\t']) {
            "" => return Err(bad("there is no name")),
            trimmed if trimmed != name => return Err(bad("there is a blank before the =")),
            _ => {}
        }
        // As in a shell, a blank ends the value, which is empty then.
        if value.starts_with([' ', '\t']) {
            if name == key {
                return Ok(None);
            }
            continue;
        }
        let mut rest = value
            .strip_prefix('\'')
            .ok_or(bad("the value has to be in single quotes"))?;
        let mut value = String::new();
        let after = loop {
            if let Some((last, after)) = rest.split_once('\'') {
                value.push_str(last);
                break after;
            }
            value.push_str(rest);
            value.push('\n');
            (rest, _) = lines.next().ok_or(bad("the quote is not closed"))?;
        };
        let after = after.trim_start_matches([' ', '\t']);
        if !after.is_empty() && !after.starts_with('#') {
            return Err(bad("there is something after the closing quote"));
        }
        if name == key {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
