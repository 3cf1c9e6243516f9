//! Pods from manifest files: a folder or a single file, JSON or YAML, one pod a file.
//!
//! Files are read when the folder tells of a change, and all of them every so often as a safety net.
//! A file that cannot be used hurts no other one. A file whose pod runs and that cannot be used any
//! more keeps its pod on the last good content; that content survives a restart of the agent in a
//! record. Only a file that is gone takes its pod away.

mod assemble;
mod list;
mod read;
mod record;
mod scan;
mod watch;

use std::path::PathBuf;
use std::time::Duration;

use agent_loops::ports::SourceSnapshot;
use tokio::sync;
use tokio::time::{Instant, sleep_until};
use tracing::{error, warn};

use scan::{Depth, Scanner};
use watch::Watch;

pub(crate) use scan::look;

/// What a file source has to know.
#[derive(Clone, Debug)]
pub struct FileSourceSettings {
    /// Folder with manifests, or one manifest (`staticPodPath`).
    pub path: PathBuf,
    /// Name of this node, part of the pods' names and generated UIDs.
    pub node: String,
    /// How often everything is read in full (`fileCheckFrequency`).
    pub period: Duration,
    /// Where the last good manifests are kept, for instance `<root>/gpulet/manifests.json`. Its folder
    /// is made when it is missing.
    pub record: PathBuf,
}

/// Age from which a file counts as written to its end when no event says so.
const SETTLED: Duration = Duration::from_secs(1);

/// Follows the files until nobody listens any more. The first snapshot comes as soon as everything
/// has been read once; `None` before. A later one comes only when something changed.
pub async fn follow_files(
    settings: FileSourceSettings,
    snapshots: sync::watch::Sender<Option<SourceSnapshot>>,
) {
    let mut watch = Watch::default();
    // As the stock kubelet reads it: a trailing slash would be part of generated UIDs.
    let settings = FileSourceSettings {
        path: settings.path.components().collect(),
        ..settings
    };
    let mut scanner = Scanner::open(settings.clone());
    let mut depth = Depth::Full;
    let mut written = Vec::new();
    let mut next_full = Instant::now() + settings.period;
    loop {
        // Watches first: what changes after them is told, what changed before them is read now.
        let blind = watch.renew(&settings.path).err();
        let work = move || {
            let mut scanner = scanner;
            let outcome = scanner.scan(depth, &written, blind);
            (scanner, outcome)
        };
        let Ok((back, outcome)) = tokio::task::spawn_blocking(work).await else {
            // The process is ending, or a bug; the files are still there.
            error!(path = %settings.path.display(), "reading manifests broke off, starting anew");
            scanner = Scanner::open(settings.clone());
            (depth, written) = (Depth::Full, Vec::new());
            continue;
        };
        scanner = back;
        if let Some(snapshot) = outcome.changed {
            snapshots.send_replace(Some(snapshot));
            // After the pods were handed on: nothing waits for the disk.
            scanner = keep(scanner)
                .await
                .unwrap_or_else(|| Scanner::open(settings.clone()));
        }
        let again = if outcome.unsettled {
            Instant::now() + SETTLED
        } else {
            next_full
        };
        tokio::select! {
            () = snapshots.closed() => return,
            names = watch.changed() => {
                written = names;
                depth = Depth::Changed;
            }
            () = sleep_until(again.min(next_full)) => {
                written = Vec::new();
                depth = Depth::Changed;
            }
        }
        if Instant::now() >= next_full {
            depth = Depth::Full;
            next_full = Instant::now() + settings.period;
        }
    }
}

/// Writes the record of last good contents.
async fn keep(scanner: Scanner) -> Option<Scanner> {
    let work = move || {
        if let Err(error) = scanner.store() {
            let why = std::error::Error::source(&error).map(ToString::to_string);
            warn!(%error, why, "a manifest that turns bad over a restart would lose its pod");
        }
        scanner
    };
    tokio::task::spawn_blocking(work).await.ok()
}

#[cfg(test)]
mod tests;
