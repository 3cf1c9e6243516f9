//! The state file: one JSON document in one directory, shared by all processes.
//!
//! Readers never lock: a writer replaces the file whole, and a reader notices by the file's identity
//! (device, inode, size, time of change), which also catches edits by other programs. Writers take
//! turns by a lock file. Nothing is memory-mapped, so that no damage to a file can crash a reader.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use thiserror::Error;

use crate::state::{FORMAT, State};

/// Environment variable that names the state directory.
pub const STATE_VARIABLE: &str = "GPUSIM_STATE";

const FILE: &str = "state.json";
const NEW_FILE: &str = "state.json.new";
const LOCK_FILE: &str = "lock";

/// A state directory.
#[derive(Debug, Clone)]
pub struct Store {
    dir: PathBuf,
}

/// Identity of one version of the state file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// Why the state cannot be read or changed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no state.
    #[error("no simulated machine in {0}: run `gpusim --state {0} init --profile <name>`")]
    Missing(PathBuf),
    /// The file is there but its content is no state.
    #[error("{path} is damaged: run `gpusim init` again or repair the JSON")]
    Damaged {
        /// The state file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The state was written by another version of the simulator.
    #[error(
        "{path} has format {found}, this simulator reads format {FORMAT}: run `gpusim init` again"
    )]
    Format {
        /// The state file.
        path: PathBuf,
        /// Format of the file.
        found: u32,
    },
    /// The operating system refused.
    #[error("cannot {action} {path}")]
    Io {
        /// What was attempted.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// The refusal.
        source: io::Error,
    },
}

impl Store {
    /// The state in this directory, which need not exist yet.
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Identity of the state file now; `None` when there is none.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        fs::metadata(self.dir.join(FILE))
            .ok()
            .map(|metadata| stamp_of(&metadata))
    }

    /// Reads the state.
    ///
    /// # Errors
    /// The file is missing, unreadable or no state.
    pub fn load(&self) -> Result<State, StoreError> {
        self.load_stamped().map(|(_, state)| state)
    }

    /// Reads the state together with the identity of the file version that was read.
    pub(crate) fn load_stamped(&self) -> Result<(Stamp, State), StoreError> {
        let path = self.dir.join(FILE);
        let mut content = Vec::new();
        let opened = File::open(&path).and_then(|mut file| {
            let stamp = stamp_of(&file.metadata()?);
            file.read_to_end(&mut content)?;
            Ok(stamp)
        });
        let stamp = opened.map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => StoreError::Missing(self.dir.clone()),
            _ => StoreError::Io {
                action: "read",
                path: path.clone(),
                source,
            },
        })?;
        let damaged = |source| StoreError::Damaged {
            path: path.clone(),
            source,
        };
        let document: serde_json::Value = serde_json::from_slice(&content).map_err(damaged)?;
        if let Some(found) = document.get("format").and_then(serde_json::Value::as_u64)
            && found != u64::from(FORMAT)
        {
            let found = u32::try_from(found).unwrap_or(u32::MAX);
            return Err(StoreError::Format {
                path: path.clone(),
                found,
            });
        }
        let state = serde_json::from_value(document).map_err(damaged)?;
        Ok((stamp, state))
    }

    /// Puts a new machine into the directory, in place of one that may be there.
    ///
    /// # Errors
    /// The directory cannot be made or written.
    pub fn create(&self, state: &State) -> Result<(), StoreError> {
        fs::create_dir_all(&self.dir).map_err(|source| StoreError::Io {
            action: "create",
            path: self.dir.clone(),
            source,
        })?;
        let _lock = self.lock()?;
        self.replace(state)
    }

    /// Changes the state. Nothing is written when `change` fails.
    ///
    /// # Errors
    /// Whatever `change` answers, or the state cannot be read or written.
    pub fn update<T, E: From<StoreError>>(
        &self,
        change: impl FnOnce(&mut State) -> Result<T, E>,
    ) -> Result<T, E> {
        // Before the lock, so that a missing directory is told as a missing machine.
        self.load()?;
        let _lock = self.lock()?;
        let mut state = self.load()?;
        let result = change(&mut state)?;
        self.replace(&state)?;
        Ok(result)
    }

    fn lock(&self) -> Result<File, StoreError> {
        let path = self.dir.join(LOCK_FILE);
        let failed = |source| StoreError::Io {
            action: "lock",
            path: path.clone(),
            source,
        };
        let file = File::create(&path).map_err(failed)?;
        rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive)
            .map_err(|errno| failed(errno.into()))?;
        Ok(file)
    }

    fn replace(&self, state: &State) -> Result<(), StoreError> {
        let path = self.dir.join(NEW_FILE);
        let failed = |source| StoreError::Io {
            action: "write",
            path: path.clone(),
            source,
        };
        let mut content = serde_json::to_vec(state).map_err(|error| failed(error.into()))?;
        content.push(b'\n');
        let mut file = File::create(&path).map_err(failed)?;
        file.write_all(&content).map_err(failed)?;
        file.set_modified(self.next_time()).map_err(failed)?;
        fs::rename(&path, self.dir.join(FILE)).map_err(failed)
    }

    /// A time of change that the file has not had: kernels stamp files with a coarse clock, and an
    /// inode is soon used again, so quick changes could otherwise look alike.
    fn next_time(&self) -> SystemTime {
        let now = SystemTime::now();
        let last = fs::metadata(self.dir.join(FILE)).and_then(|metadata| metadata.modified());
        match last
            .ok()
            .and_then(|last| last.checked_add(Duration::from_nanos(1)))
        {
            Some(next) => now.max(next),
            None => now,
        }
    }
}

fn stamp_of(metadata: &fs::Metadata) -> Stamp {
    Stamp {
        device: metadata.dev(),
        inode: metadata.ino(),
        size: metadata.size(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    }
}

#[cfg(test)]
mod tests;
