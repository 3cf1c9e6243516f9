//! Makes sure of images: remembers what is there, joins pulls of one image, bounds their number.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_core::{Fail, ImageName, PullPolicy};
use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::events::{EventLog, Subject};
use crate::ports::{ImageFacts, Runtime};

/// The images of the node. Cheap to clone; all clones share what is known and what is being pulled.
#[derive(Clone, Debug)]
pub(crate) struct Images {
    runtime: Arc<dyn Runtime>,
    events: EventLog,
    permits: Option<Arc<Semaphore>>,
    // A plain lock: it is held for a few map operations, never over an await.
    shelf: Arc<Mutex<Shelf>>,
}

#[derive(Default)]
struct Shelf {
    known: HashMap<ImageName, ImageFacts>,
    /// Weak: a pull that nobody waits for any more is dropped, which cancels it at the runtime.
    pulls: HashMap<ImageName, WeakShared<Pull>>,
}

type Pull = BoxFuture<'static, Result<Pulled, Fail>>;

#[derive(Clone)]
struct Pulled {
    facts: ImageFacts,
    took: Duration,
}

impl fmt::Debug for Shelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelf")
            .field("known", &self.known)
            .finish_non_exhaustive()
    }
}

impl Images {
    /// At most `parallel` pulls run side by side; `None`: as many as are asked for.
    pub(crate) fn new(
        runtime: Arc<dyn Runtime>,
        events: EventLog,
        parallel: Option<usize>,
    ) -> Self {
        let permits = parallel.map(|width| Arc::new(Semaphore::new(width.max(1))));
        Self {
            runtime,
            events,
            permits,
            shelf: Arc::default(),
        }
    }

    /// Makes sure of `image` by `policy`. A known image costs no call. Cancel-safe: a pull that
    /// others wait for goes on.
    pub(crate) async fn ensure(
        &self,
        about: &Subject,
        image: &ImageName,
        policy: PullPolicy,
    ) -> Result<ImageFacts, Fail> {
        if policy == PullPolicy::Always {
            return self.pull(about, image).await;
        }
        if let Some(facts) = self.look(about, image).await? {
            let present = format!(
                "Container image \"{image}\" already present on machine and can be accessed by the pod"
            );
            self.events.normal(about.clone(), "Pulled", present);
            return Ok(facts);
        }
        if policy == PullPolicy::Never {
            let message =
                format!("Container image \"{image}\" is not present with pull policy of Never");
            self.events
                .warning(about.clone(), "ErrImageNeverPull", message.clone());
            return Err(Fail::retry("ErrImageNeverPull", message));
        }
        self.pull(about, image).await
    }

    /// A container could not be made from `image`: what is known about it may be wrong.
    pub(crate) fn forget(&self, image: &ImageName) {
        self.shelf().known.remove(image);
    }

    async fn look(&self, about: &Subject, image: &ImageName) -> Result<Option<ImageFacts>, Fail> {
        if let Some(facts) = self.shelf().known.get(image) {
            return Ok(Some(facts.clone()));
        }
        match self.runtime.image(image).await {
            Ok(Some(facts)) => {
                self.shelf().known.insert(image.clone(), facts.clone());
                Ok(Some(facts))
            }
            Ok(None) => Ok(None),
            Err(fail) => {
                let message = format!("Failed to inspect image \"{image}\": {}", fail.message);
                self.events.warning(about.clone(), "InspectFailed", message);
                Err(fail)
            }
        }
    }

    async fn pull(&self, about: &Subject, image: &ImageName) -> Result<ImageFacts, Fail> {
        self.events.normal(
            about.clone(),
            "Pulling",
            format!("Pulling image \"{image}\""),
        );
        let asked = Instant::now();
        match self.join(image).await {
            Ok(pulled) => {
                let message = format!(
                    "Successfully pulled image \"{image}\" in {:?} ({:?} including waiting)",
                    milliseconds(pulled.took),
                    milliseconds(asked.elapsed()),
                );
                self.events.normal(about.clone(), "Pulled", message);
                Ok(pulled.facts)
            }
            Err(fail) => {
                let message = format!("Failed to pull image \"{image}\": {}", fail.message);
                self.events.warning(about.clone(), "Failed", message);
                self.events
                    .warning(about.clone(), "Failed", format!("Error: {}", fail.reason));
                Err(fail)
            }
        }
    }

    /// The pull of `image` that is under way, or a new one.
    fn join(&self, image: &ImageName) -> Shared<Pull> {
        let mut shelf = self.shelf();
        if let Some(pull) = shelf.pulls.get(image).and_then(WeakShared::upgrade) {
            return pull;
        }
        let pull = self.clone().fetch(image.clone()).boxed().shared();
        if let Some(weak) = pull.downgrade() {
            shelf.pulls.insert(image.clone(), weak);
        }
        pull
    }

    async fn fetch(self, image: ImageName) -> Result<Pulled, Fail> {
        let _permit = match &self.permits {
            // The semaphore is never closed; without a permit the pull would only be unbounded.
            Some(permits) => permits.acquire().await.ok(),
            None => None,
        };
        let started = Instant::now();
        let answer = self.runtime.pull(&image, None).await;
        let mut shelf = self.shelf();
        shelf.pulls.remove(&image);
        let facts = answer?;
        shelf.known.insert(image.clone(), facts.clone());
        Ok(Pulled {
            facts,
            took: started.elapsed(),
        })
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn milliseconds(duration: Duration) -> Duration {
    Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}
