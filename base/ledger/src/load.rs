//! Reading a record back.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::HEADER;
use crate::store::checksum;

/// What was found at a record's path.
#[derive(Debug)]
pub enum Loaded<T> {
    /// The record, with the version it was written with.
    Found {
        /// Version of the value's shape.
        version: u32,
        /// The value.
        value: T,
    },
    /// There is no record yet.
    Missing,
    /// There was one, it cannot be trusted, and it lies beside its old place now.
    Damaged(Damage),
}

/// A damaged record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "state file {path} is damaged ({what}); {}, and what was in it is rebuilt",
    kept.as_ref().map_or_else(
        || "it could not be set aside".to_owned(),
        |kept| format!("it was set aside as {}", kept.display()),
    )
)]
pub struct Damage {
    /// Where the record was.
    pub path: PathBuf,
    /// Where it lies now; `None` if it could not be moved.
    pub kept: Option<PathBuf>,
    /// What is wrong with it.
    pub what: String,
}

/// Reads the record at `path`. Never fails: a record that cannot be read counts as damaged.
pub fn load<T: DeserializeOwned>(path: &Path) -> Loaded<T> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Loaded::Missing,
        Err(error) => return Loaded::Damaged(set_aside(path, error.to_string())),
    };
    match parse(&bytes) {
        Ok((version, value)) => Loaded::Found { version, value },
        Err(what) => Loaded::Damaged(set_aside(path, what)),
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<(u32, T), String> {
    if bytes.is_empty() {
        return Err("it is empty".to_owned());
    }
    let end = bytes
        .iter()
        .position(|byte| *byte == b'\n')
        .ok_or("its first line is cut off")?;
    let head = std::str::from_utf8(&bytes[..end]).map_err(|_| "its first line is not text")?;
    let mut words = head.split(' ');
    if words.next() != Some(HEADER) {
        return Err(format!("its first line does not begin with {HEADER}"));
    }
    let version = words
        .next()
        .and_then(|word| word.parse().ok())
        .ok_or("it has no version")?;
    let length: usize = words
        .next()
        .and_then(|word| word.parse().ok())
        .ok_or("it has no length")?;
    let expected = words.next().ok_or("it has no checksum")?;
    let body = bytes
        .get(end + 1..)
        .and_then(|rest| rest.get(..length))
        .ok_or("it is shorter than its first line says")?;
    if checksum(body) != expected {
        return Err("its checksum does not match its content".to_owned());
    }
    let value = serde_json::from_slice(body).map_err(|error| format!("its content: {error}"))?;
    Ok((version, value))
}

/// Moves the file beside its place. At most one damaged copy is kept: the first one is the evidence.
fn set_aside(path: &Path, what: String) -> Damage {
    let mut kept = path.as_os_str().to_owned();
    kept.push(".damaged");
    let kept = PathBuf::from(kept);
    let moved = if kept.exists() {
        fs::remove_file(path)
    } else {
        fs::rename(path, &kept)
    };
    Damage {
        path: path.to_owned(),
        kept: moved.is_ok().then_some(kept),
        what,
    }
}
