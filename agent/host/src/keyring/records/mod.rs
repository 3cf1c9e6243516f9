//! Records of pulls: which images a kubelet brought here, and for whom.

mod credentials;
mod file;
mod policy;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use agent_core::{ImageReference, Time};
use agent_loops::ports::{Leave, ListedImage, PullCredential, PullEnd};
use jiff::Timestamp;

use self::credentials::{account_of, credentials_of, is_same_object, merge, secret_of};
use self::file::{Credentials, Folder, PullIntent, PulledRecord, file_name};
pub(super) use self::policy::Policy;
pub use self::policy::PolicyError;

/// Secrets of one image up to which a look adds the pod's secret to them (Kubernetes 1.37).
const REMEMBERED: usize = 100;

/// The records of a node. Reads are from memory; each change is on disk before it counts.
#[derive(Debug)]
pub(super) struct Records {
    policy: Policy,
    pulling: Folder,
    pulled: Folder,
    // A plain lock: callers are on threads that may block.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By reference of the runtime.
    pulled: BTreeMap<String, PulledRecord>,
    /// Names of files that are no records. Their image was pulled, by nobody knows whom.
    unreadable: BTreeSet<String>,
    /// By image as manifests write it.
    intents: BTreeMap<String, Intent>,
}

/// Pulls of one image without an end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Intent {
    /// Under way in this process.
    running: u32,
    /// One was given up here or by an earlier process, and may have brought the image.
    unknown: bool,
    /// Reference that the node had before. That one came from none of these pulls: who could use it,
    /// still can. The stock kubelet takes it away while a pull runs, and for good if it dies in it.
    before: Option<String>,
}

/// Why records cannot be kept.
#[derive(Debug, thiserror::Error)]
#[error("record {path} cannot be read or written; see whether the disk is full or read-only")]
pub struct RecordError {
    path: PathBuf,
    #[source]
    source: io::Error,
}

impl Records {
    /// Reads what there is below `root`.
    pub(super) fn open(root: &Path, policy: Policy) -> Result<Self, RecordError> {
        let folder = |name: &str| {
            let path = root.join("image_manager").join(name);
            Folder::open(path.clone()).map_err(|source| RecordError { path, source })
        };
        let failed = |source| RecordError {
            path: root.join("image_manager"),
            source,
        };
        let (pulling, pulled) = (folder("pulling")?, folder("pulled")?);
        let mut state = State::default();
        let records = pulled.read::<PulledRecord>().map_err(failed)?;
        for record in records.records {
            state.pulled.insert(record.image_ref.clone(), record);
        }
        state.unreadable.extend(records.unreadable);
        for intent in pulling.read::<PullIntent>().map_err(failed)?.records {
            let left = Intent {
                running: 0,
                unknown: true,
                before: pulling.before(&intent.image),
            };
            state.intents.insert(intent.image, left);
        }
        if !state.unreadable.is_empty() {
            let files = &state.unreadable;
            tracing::warn!(
                ?files,
                "records of image pulls cannot be read: their images are pulled again"
            );
        }
        Ok(Self {
            policy,
            pulling,
            pulled,
            state: Mutex::new(state),
        })
    }

    pub(super) fn leave(&self, image: &str, reference: &str) -> Leave {
        let state = self.state();
        let record = state.pulled.get(reference);
        let intent = state.intents.get(image);
        let brought = intent.is_some_and(|intent| intent.before.as_deref() != Some(reference));
        let lost = state.unreadable.contains(&file_name(reference));
        if !self
            .policy
            .verifies(image, record.is_some() || brought || lost)
        {
            return Leave::Everybody;
        }
        match record.and_then(|record| record.credential_mapping.get(&written(image))) {
            Some(known) if known.node_pods_accessible => Leave::Everybody,
            Some(known)
                if !known.kubernetes_secrets.is_empty()
                    || !known.kubernetes_service_accounts.is_empty() =>
            {
                Leave::Holders
            }
            _ => Leave::Nobody,
        }
    }

    /// Whether one of the credentials is on record. A secret that is on record under another name, or
    /// with another content, is added, so that it goes on to count when the other is gone.
    pub(super) fn may_use(
        &self,
        image: &str,
        reference: &str,
        credentials: &[PullCredential],
    ) -> bool {
        let mut state = self.state();
        let record = state.pulled.get(reference);
        let Some(known) = record.and_then(|record| record.credential_mapping.get(&written(image)))
        else {
            return false;
        };
        let few = known.kubernetes_secrets.len() < REMEMBERED;
        for secret in credentials.iter().filter_map(secret_of) {
            for on_record in &known.kubernetes_secrets {
                let same_content = !on_record.credential_hash.is_empty()
                    && on_record.credential_hash == secret.credential_hash;
                let same_object = is_same_object(on_record, &secret);
                if same_content || (same_object && few) {
                    if few && !(same_content && same_object) {
                        let more = Credentials {
                            kubernetes_secrets: vec![secret],
                            ..Default::default()
                        };
                        self.note(&mut state, image, reference, Some(more));
                    }
                    return true;
                }
            }
        }
        // One account per pod: the first counts.
        let account = credentials.iter().find_map(account_of);
        account.is_some_and(|account| known.kubernetes_service_accounts.contains(&account))
    }

    pub(super) fn pulling(&self, image: &str, present: Option<&str>) -> Result<(), RecordError> {
        let mut state = self.state();
        let intent = state.intents.entry(image.to_owned()).or_default();
        let first = intent.running == 0 && !intent.unknown;
        intent.running = intent.running.saturating_add(1);
        if !first {
            return Ok(());
        }
        intent.before = present.map(str::to_owned);
        let record = PullIntent {
            image: image.to_owned(),
        };
        // In this order: an intent without it would say that the image was not there.
        let written = self.pulling.set_before(image, present);
        let written = written.and_then(|()| self.pulling.write(&record));
        written.map_err(|source| RecordError {
            path: PathBuf::from(file_name(image)),
            source,
        })
    }

    pub(super) fn pulled(&self, image: &str, end: &PullEnd) {
        let mut state = self.state();
        let mut on_record = true;
        if let PullEnd::Pulled {
            reference,
            credential,
        } = end
        {
            let credentials = credentials_of(credential.as_deref());
            on_record = self.note(&mut state, image, reference, Some(credentials));
        }
        let Some(intent) = state.intents.get_mut(image) else {
            return;
        };
        intent.running = intent.running.saturating_sub(1);
        match end {
            // What an earlier one may have brought is what this one has seen brought.
            PullEnd::Pulled { .. } => intent.unknown = !on_record,
            PullEnd::Failed => {}
            PullEnd::Unknown => intent.unknown = true,
        }
        if intent.running == 0 && !intent.unknown {
            self.close(&mut state, image);
        }
    }

    /// Whether an earlier process left intents.
    pub(super) fn leftovers(&self) -> bool {
        self.state().intents.values().any(|intent| intent.unknown)
    }

    /// Turns intents whose pull brought something into records without credentials: the next pod has to
    /// show its own.
    pub(super) fn settle(&self, images: &[ListedImage]) {
        let mut state = self.state();
        let open = state.intents.iter();
        let left: Vec<(String, Intent)> = open
            .filter(|(_, intent)| intent.unknown)
            .map(|(image, intent)| (image.clone(), intent.clone()))
            .collect();
        for (image, intent) in left {
            let found = images.iter().find(|each| has_name(each, &image));
            let brought = found.filter(|found| intent.before.as_ref() != Some(&found.id));
            let on_record = match brought {
                Some(brought) => self.note(&mut state, &image, &brought.id, None),
                None => true,
            };
            if !on_record {
                continue;
            }
            if let Some(intent) = state.intents.get_mut(&image) {
                intent.unknown = false;
                if intent.running == 0 {
                    self.close(&mut state, &image);
                }
            }
        }
    }

    pub(super) fn prune(&self, present: &BTreeSet<String>, before: Time) {
        let mut state = self.state();
        let old = |record: &PulledRecord| {
            // A time that cannot be read is an old one.
            let time = record.last_updated_time.parse::<Timestamp>();
            time.map_or(0, Timestamp::as_nanosecond) < i128::from(before.0)
        };
        let gone: Vec<String> = state
            .pulled
            .values()
            .filter(|record| old(record) && !present.contains(&record.image_ref))
            .map(|record| record.image_ref.clone())
            .collect();
        for reference in gone {
            match self.pulled.remove(&reference) {
                Ok(()) => drop(state.pulled.remove(&reference)),
                Err(error) => tracing::warn!(reference, %error, "record of an image pull stays"),
            }
        }
    }

    /// Adds to the record of an image. False: it could not be written, and does not count.
    fn note(
        &self,
        state: &mut State,
        image: &str,
        reference: &str,
        credentials: Option<Credentials>,
    ) -> bool {
        let old = state.pulled.get(reference);
        let mut record = old.cloned().unwrap_or_else(|| PulledRecord {
            image_ref: reference.to_owned(),
            ..Default::default()
        });
        if let Some(credentials) = credentials {
            let known = record.credential_mapping.entry(written(image)).or_default();
            merge(known, credentials);
        }
        if old == Some(&record) {
            return true;
        }
        record.last_updated_time = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        match self.pulled.write(&record) {
            Ok(()) => {
                state.unreadable.remove(&file_name(reference));
                state.pulled.insert(reference.to_owned(), record);
                true
            }
            Err(error) => {
                tracing::warn!(image, %error, "an image pull cannot be recorded");
                false
            }
        }
    }

    fn close(&self, state: &mut State, image: &str) {
        let removed = self.pulling.remove(image);
        match removed.and_then(|()| self.pulling.set_before(image, None)) {
            Ok(()) => drop(state.intents.remove(image)),
            Err(error) => {
                tracing::warn!(image, %error, "the intent to pull an image stays on record")
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Without tag and digest, the key of credentials in a record.
fn written(image: &str) -> String {
    ImageReference::parse(image).map_or_else(|_| image.to_owned(), |read| read.written)
}

/// Whether the runtime lists an image under a name that a manifest may write shorter.
fn has_name(listed: &ListedImage, image: &str) -> bool {
    let full = |text: &str| {
        let read = ImageReference::parse(text).ok()?;
        Some((
            read.repository(),
            read.to_string().strip_prefix(&read.written)?.to_owned(),
        ))
    };
    let wanted = full(image);
    listed.id == image
        || listed
            .names
            .iter()
            .any(|name| name == image || (wanted.is_some() && full(name) == wanted))
}

#[cfg(test)]
mod tests;
