//! Makes sure of images: remembers what is there, asks who may use it, joins equal pulls, bounds
//! their number and their rate.

mod intent;
mod pull;
mod rate;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_core::{Fail, ImageName, ImageReference, PullPolicy};
use tokio::sync::{OnceCell, Semaphore};
use tokio::time::Instant;

use self::pull::{Pulls, milliseconds};
use self::rate::Rate;
use crate::events::{EventLog, Subject};
use crate::ports::{ImageFacts, Keyring, Leave, PullCredential, References, Runtime, WantedPod};

/// The images of the node. Cheap to clone; all clones share what is known and what is being pulled.
#[derive(Clone, Debug)]
pub(crate) struct Images {
    runtime: Arc<dyn Runtime>,
    keyring: Arc<dyn Keyring>,
    events: EventLog,
    permits: Option<Arc<Semaphore>>,
    rate: Option<Arc<Rate>>,
    /// Set when pulls of an earlier process have been judged.
    settled: Arc<OnceCell<()>>,
    // A plain lock: it is held for a few map operations, never over an await.
    shelf: Arc<Mutex<Shelf>>,
}

/// How many pulls may run, and how often one may begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PullLimits {
    /// Pulls that may run side by side; `None` is without limit. Stock `serializeImagePulls` is 1,
    /// otherwise `maxParallelImagePulls`.
    pub parallel: Option<usize>,
    /// Stock `registryPullQPS`: pulls that may begin in a second; 0 is without limit.
    pub per_second: u32,
    /// Stock `registryBurst`: pulls that may begin at once after a rest.
    pub burst: u32,
}

/// Who wants which image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ImageAsk<'a> {
    /// The container, as the subject of events.
    pub(crate) about: &'a Subject,
    /// As the manifest writes it.
    pub(crate) image: &'a ImageName,
    pub(crate) policy: PullPolicy,
    pub(crate) pod: &'a WantedPod,
    pub(crate) references: &'a References,
}

#[derive(Default)]
struct Shelf {
    /// By name with tag or digest.
    known: HashMap<ImageName, ImageFacts>,
    pulls: Pulls,
}

impl fmt::Debug for Shelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelf")
            .field("known", &self.known)
            .finish_non_exhaustive()
    }
}

impl Images {
    pub(crate) fn new(
        runtime: Arc<dyn Runtime>,
        keyring: Arc<dyn Keyring>,
        events: EventLog,
        limits: PullLimits,
    ) -> Self {
        let permits = limits
            .parallel
            .map(|width| Arc::new(Semaphore::new(width.max(1))));
        Self {
            runtime,
            keyring,
            events,
            permits,
            rate: Rate::new(limits.per_second, limits.burst).map(Arc::new),
            settled: Arc::default(),
            shelf: Arc::default(),
        }
    }

    /// Makes sure of an image by its policy. A known image that everybody may use costs no call.
    /// Cancel-safe: a pull that others wait for goes on.
    pub(crate) async fn ensure(&self, ask: &ImageAsk<'_>) -> Result<ImageFacts, Fail> {
        let result = self.provide(ask).await;
        if let Err(fail) = &result {
            let text = format!("Error: {}", fail.reason);
            self.events.warning(ask.about.clone(), "Failed", text);
        }
        result
    }

    /// As [`Self::ensure`], leaving it to the caller to tell what fails for want of the image.
    pub(crate) async fn provide(&self, ask: &ImageAsk<'_>) -> Result<ImageFacts, Fail> {
        self.tell_missing_secrets(ask);
        self.obtain(ask).await
    }

    /// A container could not be made from `image`: what is known about it may be wrong.
    pub(crate) fn forget(&self, image: &ImageName) {
        if let Ok(full) = full_name(image) {
            self.shelf().known.remove(&full);
        }
    }

    async fn obtain(&self, ask: &ImageAsk<'_>) -> Result<ImageFacts, Fail> {
        let full = full_name(ask.image).map_err(|message| {
            self.warn(ask, "InspectFailed", &message);
            Fail::permanent("InvalidImageName", message)
        })?;
        if ask.policy == PullPolicy::Always {
            return self
                .pull(ask, &full, self.credentials(ask, &full).await?)
                .await;
        }
        let Some(facts) = self.look(ask, &full).await? else {
            if ask.policy == PullPolicy::Never {
                return Err(self.never(ask));
            }
            return self
                .pull(ask, &full, self.credentials(ask, &full).await?)
                .await;
        };
        self.settle().await;
        let (allowed, credentials) = match self.keyring.leave(ask.image, &facts.reference).await {
            Leave::Everybody => (true, None),
            Leave::Nobody => (false, None),
            Leave::Holders => {
                let credentials = self.credentials(ask, &full).await?;
                let may = self
                    .keyring
                    .may_use(ask.image, &facts.reference, &credentials)
                    .await;
                (may, Some(credentials))
            }
        };
        if allowed {
            let present = format!(
                "Container image \"{}\" already present on machine and can be accessed by the pod",
                ask.image
            );
            self.events.normal(ask.about.clone(), "Pulled", present);
            return Ok(facts);
        }
        if ask.policy == PullPolicy::Never {
            // The same words as for an image that is not there: who may not use it must not learn
            // that others can.
            return Err(self.never(ask));
        }
        let credentials = match credentials {
            Some(credentials) => credentials,
            None => self.credentials(ask, &full).await?,
        };
        self.pull(ask, &full, credentials).await
    }

    async fn look(&self, ask: &ImageAsk<'_>, full: &ImageName) -> Result<Option<ImageFacts>, Fail> {
        if let Some(facts) = self.shelf().known.get(full) {
            return Ok(Some(facts.clone()));
        }
        match self.runtime.image(full).await {
            Ok(Some(facts)) => {
                self.shelf().known.insert(full.clone(), facts.clone());
                Ok(Some(facts))
            }
            Ok(None) => Ok(None),
            Err(fail) => {
                let message = format!("Failed to inspect image \"{full}\": {}", fail.message);
                self.warn(ask, "InspectFailed", &message);
                Err(fail)
            }
        }
    }

    async fn credentials(
        &self,
        ask: &ImageAsk<'_>,
        full: &ImageName,
    ) -> Result<Vec<PullCredential>, Fail> {
        self.keyring
            .credentials(full, ask.pod, ask.references)
            .await
    }

    /// Pulls it, told in events.
    async fn pull(
        &self,
        ask: &ImageAsk<'_>,
        full: &ImageName,
        credentials: Vec<PullCredential>,
    ) -> Result<ImageFacts, Fail> {
        let image = ask.image;
        self.settle().await;
        let text = format!("Pulling image \"{image}\"");
        self.events.normal(ask.about.clone(), "Pulling", text);
        let asked = Instant::now();
        match self.join(image, full, credentials).await {
            Ok(pulled) => {
                let message = format!(
                    "Successfully pulled image \"{image}\" in {:?} ({:?} including waiting). \
                     Image size: {} bytes.",
                    milliseconds(pulled.took),
                    milliseconds(asked.elapsed()),
                    pulled.facts.size,
                );
                self.events.normal(ask.about.clone(), "Pulled", message);
                Ok(pulled.facts)
            }
            Err(fail) => {
                let message = format!("Failed to pull image \"{image}\": {}", fail.message);
                self.warn(ask, "Failed", &message);
                Err(fail)
            }
        }
    }

    fn never(&self, ask: &ImageAsk<'_>) -> Fail {
        let message = format!(
            "Container image \"{}\" is not present with pull policy of Never",
            ask.image
        );
        self.warn(ask, "ErrImageNeverPull", &message);
        Fail::retry("ErrImageNeverPull", message)
    }

    fn tell_missing_secrets(&self, ask: &ImageAsk<'_>) {
        let missing = self.keyring.missing(ask.pod, ask.references);
        if missing.is_empty() {
            return;
        }
        let pod = Subject::Pod {
            uid: ask.pod.want.uid.clone(),
            name: ask.pod.want.name.clone(),
        };
        let text = format!(
            "Unable to retrieve some image pull secrets ({}); attempting to pull the image may not \
             succeed.",
            missing.join(", ")
        );
        self.events
            .warning(pod, "FailedToRetrieveImagePullSecret", text);
    }

    /// Has pulls judged that an earlier process left without an end; tried again when the runtime
    /// does not answer.
    async fn settle(&self) {
        let judge = async || {
            if self.keyring.leftovers() {
                self.keyring.settle(&self.runtime.images().await?).await;
            }
            Ok::<(), Fail>(())
        };
        if let Err(error) = self.settled.get_or_try_init(judge).await {
            tracing::debug!(%error, "pulls of an earlier process are not judged yet");
        }
    }

    fn warn(&self, ask: &ImageAsk<'_>, reason: &'static str, text: &str) {
        self.events.warning(ask.about.clone(), reason, text);
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// With the default tag, as the runtime is asked for it. The error is the stock kubelet's text.
fn full_name(image: &ImageName) -> Result<ImageName, String> {
    match ImageReference::parse(image.as_str()) {
        Ok(reference) => Ok(ImageName::new(reference.to_string())),
        Err(error) => Err(format!(
            "Failed to apply default image tag \"{image}\": couldn't parse image name \"{image}\": {error}"
        )),
    }
}

/// How long a pull took.
#[derive(Clone, Debug)]
struct Pulled {
    facts: ImageFacts,
    took: Duration,
}

#[cfg(test)]
mod tests;
