//! The CDI document: made when facts change, checked before each grant.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base_daemon::{Backoff, Chain};
use gpu_cdi::{Document, Site, generate, load, missing_host_paths, store};
use gpu_model::{Device, DriverFacts, GpuFacts, GpuUuid, Inventory, Occupancy, Presence};
use tokio::time::Instant;

use crate::blocking::blocking;
use crate::clock::after;

/// While something is missing it is looked for again after this time, doubling up to the limit: nothing tells
/// when a driver's files or nodes appear.
const RETRY: Duration = Duration::from_secs(5);
const RETRY_LIMIT: Duration = Duration::from_secs(60);

/// The document and how fresh it is.
#[derive(Debug)]
pub(crate) struct Documents {
    folder: PathBuf,
    site: Site,
    /// What it is made from.
    facts: Option<Facts>,
    document: Arc<Document>,
    /// Why there is none.
    pub(crate) failure: Option<String>,
    /// What it lacks.
    pub(crate) missing: Vec<String>,
    backoff: Backoff,
    pub(crate) retry: Option<Instant>,
}

/// What is different about the document.
#[derive(Debug, Default)]
pub(crate) struct Change {
    /// Anything.
    pub(crate) any: bool,
    /// What is wrong now and was not before.
    pub(crate) complaints: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
struct Facts {
    driver: DriverFacts,
    gpus: Vec<GpuFacts>,
}

impl Documents {
    pub(crate) fn new(folder: PathBuf, site: Site) -> Self {
        Self {
            folder,
            site,
            facts: None,
            document: Arc::default(),
            failure: None,
            missing: Vec::new(),
            backoff: Backoff::new(RETRY, RETRY_LIMIT),
            retry: None,
        }
    }

    /// Takes the document of the last run, so that what is held already can be described before the
    /// driver has been looked at.
    pub(crate) async fn recall(&mut self) {
        let folder = self.folder.clone();
        if let Ok(Some(document)) = blocking(move || load(&folder)).await {
            self.document = Arc::new(document);
        }
    }

    pub(crate) fn document(&self) -> &Arc<Document> {
        &self.document
    }

    pub(crate) fn folder(&self) -> &PathBuf {
        &self.folder
    }

    /// Names of all devices in it.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        self.document
            .devices
            .iter()
            .map(|device| device.name.clone())
            .collect()
    }

    /// Device nodes that a container gets with this GPU.
    pub(crate) fn nodes(&self, gpu: &GpuUuid) -> Vec<String> {
        let edits = self
            .document
            .device(gpu.as_str())
            .map(|device| &device.container_edits);
        edits
            .into_iter()
            .flat_map(|e| &e.device_nodes)
            .map(|node| node.path.clone())
            .collect()
    }

    /// Makes the document from what is known now.
    pub(crate) async fn renew(&mut self, inventory: &Inventory, occupancy: &Occupancy) -> Change {
        let driver = inventory.driver().clone();
        self.facts = Some(Facts {
            driver,
            gpus: described(inventory, occupancy),
        });
        self.make().await
    }

    /// Makes it again from the same facts, since files may have appeared.
    pub(crate) async fn retry(&mut self) -> Change {
        self.make().await
    }

    /// Before a grant: makes it again if a file that it names is gone, writes it again if somebody damaged it.
    pub(crate) async fn check(&mut self) -> Change {
        let (document, folder) = (Arc::clone(&self.document), self.folder.clone());
        let sound =
            move || missing_host_paths(&document).is_empty() && store(&folder, &document).is_ok();
        let usable = self.failure.is_none() && blocking(sound).await.unwrap_or(false);
        if usable {
            Change::default()
        } else {
            self.make().await
        }
    }

    /// Everything that is wrong with it.
    pub(crate) fn complaints(&self) -> impl Iterator<Item = &String> {
        self.failure.iter().chain(&self.missing)
    }

    async fn make(&mut self) -> Change {
        let Some(facts) = self.facts.clone() else {
            return Change::default();
        };
        let (folder, site) = (self.folder.clone(), self.site.clone());
        let made = blocking(move || make(&folder, &site, &facts))
            .await
            .and_then(|made| made);
        let before: BTreeSet<String> = self.complaints().cloned().collect();
        let document = Arc::clone(&self.document);
        match made {
            Ok((document, missing)) => {
                self.failure = None;
                self.missing = missing;
                self.document = Arc::new(document);
            }
            Err(failure) => self.failure = Some(failure),
        }
        let now: BTreeSet<String> = self.complaints().cloned().collect();
        if now.is_empty() {
            self.backoff.reset();
            self.retry = None;
        } else {
            self.retry = Some(after(self.backoff.step()));
        }
        Change {
            any: document != self.document || before != now,
            complaints: now.difference(&before).cloned().collect(),
        }
    }
}

/// GPUs that belong into the document. One that does not answer or is gone is in it as long as somebody holds
/// it, so that a container of that holder can start again; unless its node is that of another GPU by now.
fn described(inventory: &Inventory, occupancy: &Occupancy) -> Vec<GpuFacts> {
    let known = || inventory.gpus().values();
    let present: Vec<GpuFacts> = known()
        .filter(|k| k.presence == Presence::Present)
        .map(|k| k.facts.clone())
        .collect();
    let taken = |gpu: &GpuFacts| present.iter().any(|other| other.minor == gpu.minor);
    let held = |gpu: &GpuFacts| occupancy.holder(&Device::whole(gpu.uuid.clone())).is_some();
    let absent = known()
        .filter(|k| k.presence != Presence::Present)
        .map(|k| &k.facts);
    let absent: Vec<_> = absent
        .filter(|gpu| held(gpu) && !taken(gpu))
        .cloned()
        .collect();
    [present, absent].concat()
}

fn make(
    folder: &std::path::Path,
    site: &Site,
    facts: &Facts,
) -> Result<(Document, Vec<String>), String> {
    let made = generate(&facts.driver, &facts.gpus, site).map_err(|e| Chain(&e).to_string())?;
    let stored = store(folder, &made.document).map_err(|e| Chain(&e).to_string())?;
    if stored.written {
        let path = stored.path.display().to_string();
        tracing::info!(
            path,
            hash = stored.hash,
            devices = made.document.devices.len(),
            "CDI document written"
        );
    }
    Ok((made.document, made.missing))
}
