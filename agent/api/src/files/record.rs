//! The last good manifests, on disk: a pod whose manifest turned bad while the agent was down would
//! be nobody's otherwise, and would be stopped.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use base_ledger::{Loaded, StoreError};
use serde::{Deserialize, Serialize};

/// Version of the record's shape.
const VERSION: u32 = 1;

/// Text of the manifest that each pod runs on, by file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) files: BTreeMap<PathBuf, String>,
}

/// Reads the record; a damaged one is set aside and told as text.
pub(super) fn load(path: &Path) -> (Record, Option<String>) {
    match base_ledger::load::<Record>(path) {
        Loaded::Found {
            version: VERSION,
            value,
        } => (value, None),
        Loaded::Found { version, .. } => {
            let message =
                format!("it has version {version}, this agent reads {VERSION}; it is not used");
            (Record::default(), Some(message))
        }
        Loaded::Missing => (Record::default(), None),
        Loaded::Damaged(damage) => (Record::default(), Some(damage.to_string())),
    }
}

pub(super) fn store(path: &Path, record: &Record) -> Result<(), StoreError> {
    if let Some(folder) = path.parent() {
        // A failure shows when the file is written.
        let _ = fs::DirBuilder::new()
            .recursive(true)
            .mode(0o750)
            .create(folder);
    }
    base_ledger::store(path, VERSION, record)
}
