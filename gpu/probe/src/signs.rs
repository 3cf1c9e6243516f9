//! Signs on disk that a driver or a GPU came or went.

use std::io;
use std::path::Path;

use inotify::{EventStream, Inotify, WatchMask};
use tokio_stream::StreamExt;

use crate::settings::ProbeSettings;

/// How file names begin that matter: the library and the device nodes.
const PREFIXES: [&str; 2] = ["libnvidia-ml.so", "nvidia"];

/// Room for some events; more come in one go only with names that do not matter.
const BUFFER: usize = 1024;

/// Folders in which libraries and device nodes appear. Missing ones are left out, and without inotify
/// nothing is watched: the probe looks from time to time anyway.
#[derive(Debug)]
pub(crate) struct Signs {
    events: Option<EventStream<[u8; BUFFER]>>,
}

impl Signs {
    pub(crate) fn watch(settings: &ProbeSettings) -> Self {
        let events = subscribe(settings);
        if let Err(error) = &events {
            tracing::debug!(%error, "no inotify; a new driver is noticed later");
        }
        Self {
            events: events.ok(),
        }
    }

    /// Resolves at the next sign. Safe to cancel.
    pub(crate) async fn next(&mut self) {
        while let Some(events) = &mut self.events {
            match events.next().await {
                Some(Ok(event)) => {
                    let name = event.name.unwrap_or_default();
                    if PREFIXES
                        .iter()
                        .any(|prefix| name.to_string_lossy().starts_with(prefix))
                    {
                        return;
                    }
                }
                Some(Err(_)) | None => self.events = None,
            }
        }
        std::future::pending().await
    }
}

fn subscribe(settings: &ProbeSettings) -> io::Result<EventStream<[u8; BUFFER]>> {
    let inotify = Inotify::init()?;
    // A node that is opened and closed is no sign, and happens all the time.
    let appears = WatchMask::CREATE | WatchMask::DELETE | WatchMask::MOVED_TO;
    let add = |folder: &Path, mask| {
        if let Err(error) = inotify.watches().add(folder, mask) {
            tracing::debug!(folder = %folder.display(), %error, "not watched");
        }
    };
    add(&settings.dev, appears);
    let named = settings.library.as_deref().and_then(Path::parent);
    for folder in settings.search.iter().map(AsRef::as_ref).chain(named) {
        add(folder, appears | WatchMask::CLOSE_WRITE);
    }
    inotify.into_event_stream([0; BUFFER])
}
