//! Events of the folder: they only wake somebody up, and tell which files are complete.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use futures::{FutureExt, StreamExt};
use inotify::{EventMask, EventOwned, EventStream, Inotify, WatchDescriptor, WatchMask, Watches};

/// Events after which a file has its whole content.
const COMPLETE: EventMask = EventMask::CLOSE_WRITE.union(EventMask::MOVED_TO);

/// Everything that may change what a folder holds. Plain writes are left out: they come in pieces.
const FOLDER: WatchMask = WatchMask::CLOSE_WRITE
    .union(WatchMask::MOVED_TO)
    .union(WatchMask::MOVED_FROM)
    .union(WatchMask::CREATE)
    .union(WatchMask::DELETE)
    .union(WatchMask::ATTRIB)
    .union(WatchMask::DELETE_SELF)
    .union(WatchMask::MOVE_SELF);

/// Bytes for events of one read; more come with the next one.
const BUFFER: usize = 4096;

/// Folder events, or silence where the system gives none.
#[derive(Debug, Default)]
pub(super) struct Watch {
    events: Option<Events>,
}

struct Events {
    stream: EventStream<[u8; BUFFER]>,
    watches: Watches,
    folders: BTreeMap<WatchDescriptor, Place>,
}

/// What a watch is on.
#[derive(Debug)]
enum Place {
    /// The folder with the manifests.
    Manifests(PathBuf),
    /// The folder above, for the one name in it that matters.
    Above(PathBuf),
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places: Vec<&Place> = self.folders.values().collect();
        f.debug_struct("Events")
            .field("places", &places)
            .finish_non_exhaustive()
    }
}

impl Watch {
    /// Watches what is at `path` now, and the folder above for what may come. Repeatable: the folder
    /// may have been replaced. Fails if there is something and the system gives no events for it.
    pub(super) fn renew(&mut self, path: &Path) -> io::Result<()> {
        if self.events.is_none() {
            let inotify = Inotify::init()?;
            let watches = inotify.watches();
            let stream = inotify.into_event_stream([0; BUFFER])?;
            self.events = Some(Events {
                stream,
                watches,
                folders: BTreeMap::new(),
            });
        }
        let Some(events) = &mut self.events else {
            return Ok(());
        };
        events.folders.clear();
        if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty()) {
            events.add(above, Place::Above(path.to_owned()))?;
        }
        if path.is_dir() {
            events.add(path, Place::Manifests(path.to_owned()))?;
        }
        Ok(())
    }

    /// Waits for a change. Gives the files that are complete since; others may have changed too.
    pub(super) async fn changed(&mut self) -> Vec<PathBuf> {
        let mut complete = Vec::new();
        loop {
            let Some(events) = &mut self.events else {
                return std::future::pending().await;
            };
            let mut matters = false;
            let mut next = events.stream.next().await;
            // Everything that is there already belongs to this one change.
            while let Some(event) = next {
                let Ok(event) = event else {
                    self.events = None;
                    return complete;
                };
                matters |= events.note(&event, &mut complete);
                next = events.stream.next().now_or_never().flatten();
            }
            if matters {
                return complete;
            }
        }
    }
}

impl Events {
    fn add(&mut self, folder: &Path, place: Place) -> io::Result<()> {
        match self.watches.add(folder, FOLDER) {
            Ok(descriptor) => {
                self.folders.insert(descriptor, place);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Whether the event can matter; adds the file if it is complete.
    fn note(&self, event: &EventOwned, complete: &mut Vec<PathBuf>) -> bool {
        let path = match (self.folders.get(&event.wd), &event.name) {
            (Some(Place::Manifests(folder)), Some(name)) => folder.join(name),
            (Some(Place::Above(path)), Some(name)) if path.file_name() == Some(name) => {
                path.clone()
            }
            (Some(Place::Above(_)), Some(_)) => return false,
            // A folder itself, or a queue that ran over: anything may have happened.
            _ => return true,
        };
        if event.mask.intersects(COMPLETE) {
            complete.push(path);
        }
        true
    }
}
