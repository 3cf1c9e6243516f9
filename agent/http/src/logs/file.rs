//! The file of a log: opened without following anything, read line by line.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use tokio::io::AsyncReadExt;

/// Bytes that one read asks for.
const READ: usize = 64 << 10;
/// Longest line that is kept together; runtimes cut at 16 KiB. What is longer is no log.
const LONGEST: usize = 1 << 20;

/// A log that is being read.
#[derive(Debug)]
pub(super) struct LogFile {
    file: tokio::fs::File,
    /// Which file it is, whatever its name becomes.
    identity: (u64, u64),
    /// Read but not taken yet, from `taken` on.
    buffer: Vec<u8>,
    taken: usize,
    /// Up to where it has been searched for an end of line.
    searched: usize,
    /// The rest of a line that was too long is passed over.
    skipping: bool,
}

/// Opens `inside` of the folder `top`, where containers may have written: no part of it may be a
/// link, and it has to be a file. Blocks for a moment.
pub(super) fn open(top: &Path, inside: &Path) -> io::Result<fs::File> {
    let top = openat(
        CWD,
        top,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    // Opening a pipe would wait for its other end.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let file = fs::File::from(openat2(top, inside, flags, Mode::empty(), resolve)?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    Ok(file)
}

/// Device and number of a file.
pub(super) fn identity(file: &fs::File) -> io::Result<(u64, u64)> {
    let found = file.metadata()?;
    Ok((found.dev(), found.ino()))
}

impl LogFile {
    /// Reads on from where `file` stands.
    pub(super) fn new(file: fs::File) -> io::Result<Self> {
        Ok(Self {
            identity: identity(&file)?,
            file: tokio::fs::File::from_std(file),
            buffer: Vec::new(),
            taken: 0,
            searched: 0,
            skipping: false,
        })
    }

    pub(super) fn identity(&self) -> (u64, u64) {
        self.identity
    }

    /// Reads more. False: this is the end for now.
    pub(super) async fn fill(&mut self) -> io::Result<bool> {
        self.buffer.drain(..self.taken);
        self.searched = self.searched.saturating_sub(self.taken);
        self.taken = 0;
        if self.buffer.len() > LONGEST {
            self.buffer.clear();
            (self.searched, self.skipping) = (0, true);
        }
        self.buffer.reserve(READ);
        Ok(self.file.read_buf(&mut self.buffer).await? > 0)
    }

    /// The next whole line with its end.
    pub(super) fn line(&mut self) -> Option<&[u8]> {
        loop {
            let fresh = self.buffer.get(self.searched..)?;
            let Some(end) = fresh.iter().position(|byte| *byte == b'\n') else {
                self.searched = self.buffer.len();
                return None;
            };
            let (start, end) = (self.taken, self.searched + end + 1);
            (self.taken, self.searched) = (end, end);
            if !std::mem::take(&mut self.skipping) {
                return self.buffer.get(start..end);
            }
        }
    }

    /// What is left without an end of line.
    pub(super) fn rest(&mut self) -> &[u8] {
        let start = std::mem::replace(&mut self.taken, self.buffer.len());
        self.searched = self.taken;
        if self.skipping {
            return &[];
        }
        self.buffer.get(start..).unwrap_or_default()
    }
}
