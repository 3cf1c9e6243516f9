//! Reading one file that may be anything: nothing here blocks, and no device is opened.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use std::fs;

/// Largest manifest, as in the stock kubelet.
pub(super) const LARGEST: u64 = 10 * 1024 * 1024;

/// Why there is no content.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    /// A link to nothing.
    #[error("it is a link to {0}, which does not exist")]
    Dangling(PathBuf),
    /// Something else than a file.
    #[error("it is {0}, it must be a file")]
    NotAFile(&'static str),
    /// More than a manifest may have.
    #[error("it has {0} bytes, a manifest may have at most 10 MiB")]
    TooLarge(u64),
    /// The system refuses.
    #[error("it cannot be read: {0}")]
    Io(io::Error),
    /// It was removed meanwhile.
    #[error("it is gone")]
    Gone,
}

/// What changes when a file's content does, links followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    file: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            file: (metadata.dev(), metadata.ino()),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether the content was written less than `age` before `now`. A time in the future counts as
    /// long ago: a wrong clock must not hold a manifest back.
    pub(super) fn is_younger_than(&self, age: Duration, now: SystemTime) -> bool {
        let (seconds, nanos) = self.modified;
        let written = u64::try_from(seconds)
            .ok()
            .zip(u32::try_from(nanos).ok())
            .map(|(seconds, nanos)| SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos));
        written
            .and_then(|written| now.duration_since(written).ok())
            .is_some_and(|old| old < age)
    }
}

/// Looks at what `path` leads to.
pub(super) fn stamp(path: &Path) -> Result<Stamp, ReadError> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(fs::read_link(path).map_or(ReadError::Gone, ReadError::Dangling));
        }
        Err(error) => return Err(ReadError::Io(error)),
    };
    usable(&metadata)?;
    Ok(Stamp::of(&metadata))
}

/// Reads a file whose stamp was taken. What was swapped in between is noticed: the open does not
/// wait for the other end of a FIFO, and the opened thing is judged once more.
pub(super) fn content(path: &Path) -> Result<Vec<u8>, ReadError> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(NONBLOCK | NOCTTY)
        .open(path)
        .map_err(ReadError::Io)?;
    usable(&file.metadata().map_err(ReadError::Io)?)?;
    read(file)
}

/// `O_NONBLOCK` and `O_NOCTTY` of Linux.
const NONBLOCK: i32 = 0o4000;
const NOCTTY: i32 = 0o400;

fn read(file: File) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    file.take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(ReadError::Io)?;
    match u64::try_from(bytes.len()) {
        Ok(length) if length <= LARGEST => Ok(bytes),
        Ok(length) => Err(ReadError::TooLarge(length)),
        Err(_) => Err(ReadError::TooLarge(u64::MAX)),
    }
}

fn usable(metadata: &Metadata) -> Result<(), ReadError> {
    let kind = metadata.file_type();
    for (is, name) in [
        (kind.is_dir(), "a folder"),
        (kind.is_fifo(), "a FIFO"),
        (kind.is_socket(), "a socket"),
        (kind.is_block_device() || kind.is_char_device(), "a device"),
    ] {
        if is {
            return Err(ReadError::NotAFile(name));
        }
    }
    if metadata.len() > LARGEST {
        return Err(ReadError::TooLarge(metadata.len()));
    }
    Ok(())
}
