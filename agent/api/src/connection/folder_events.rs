//! Wakes somebody up when something in a folder changes.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use futures::{FutureExt, StreamExt};
use inotify::{EventStream, Inotify, WatchMask};

/// What may give a file a new content, or a link a new end. Plain writes are left out: they come in
/// pieces.
const CHANGES: WatchMask = WatchMask::CLOSE_WRITE
    .union(WatchMask::MOVED_TO)
    .union(WatchMask::MOVED_FROM)
    .union(WatchMask::CREATE)
    .union(WatchMask::DELETE);

/// Bytes for events of one read; more come with the next one.
const BUFFER: usize = 1024;

/// Events of the folders that some files are in; silence if there are none.
pub(super) struct FolderEvents(Option<EventStream<[u8; BUFFER]>>);

impl fmt::Debug for FolderEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FolderEvents").finish()
    }
}

impl FolderEvents {
    /// Watches the folders of these files. Where the system gives no events the files are followed no
    /// further, which is said.
    pub(super) fn of<'a>(files: impl IntoIterator<Item = &'a Path>) -> Self {
        let folders: BTreeSet<PathBuf> = files
            .into_iter()
            .filter_map(Path::parent)
            .filter(|folder| folder.is_dir())
            .map(Path::to_owned)
            .collect();
        if folders.is_empty() {
            return Self(None);
        }
        match watch(&folders) {
            Ok(stream) => Self(Some(stream)),
            Err(error) => {
                tracing::warn!(
                    %error, ?folders,
                    "changes of certificate files will not be noticed, raise fs.inotify.max_user_instances"
                );
                Self(None)
            }
        }
    }

    /// Waits for a change. Safe to cancel: an event that was not told is told by the next call.
    pub(super) async fn changed(&mut self) {
        let Some(stream) = &mut self.0 else {
            return std::future::pending().await;
        };
        let mut next = stream.next().await;
        if next.is_none() {
            self.0 = None;
            return;
        }
        // Everything that is there already belongs to this one change.
        loop {
            match next {
                Some(Ok(_)) => next = stream.next().now_or_never().flatten(),
                Some(Err(error)) => {
                    tracing::warn!(%error, "changes of certificate files are not noticed any more");
                    self.0 = None;
                    return;
                }
                None => return,
            }
        }
    }
}

fn watch(folders: &BTreeSet<PathBuf>) -> io::Result<EventStream<[u8; BUFFER]>> {
    let inotify = Inotify::init()?;
    for folder in folders {
        inotify.watches().add(folder, CHANGES)?;
    }
    inotify.into_event_stream([0; BUFFER])
}
