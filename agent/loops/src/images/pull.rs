//! Pulls under way: equal ones are joined, all are bounded.

use std::collections::HashMap;
use std::time::Duration;

use agent_core::{Fail, ImageName};
use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};
use tokio::time::Instant;

use super::intent::Intent;
use super::{Images, Pulled};
use crate::ports::{ImageFacts, PullCredential, PullEnd};

pub(super) type Pull = BoxFuture<'static, Result<Pulled, Fail>>;

/// Pulls are equal when image and credentials are: a pod must not profit from the credentials of
/// another, nor wait for a pull that will fail without its own.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    /// As the manifest writes it, which is how pulls are recorded.
    image: ImageName,
    credentials: Vec<PullCredential>,
}

/// Weak: a pull that nobody waits for any more is dropped, which cancels it at the runtime.
#[derive(Default)]
pub(super) struct Pulls(HashMap<Key, WeakShared<Pull>>);

impl Images {
    /// The equal pull that is under way, or a new one.
    pub(super) fn join(
        &self,
        image: &ImageName,
        full: &ImageName,
        credentials: Vec<PullCredential>,
    ) -> Shared<Pull> {
        let key = Key {
            image: image.clone(),
            credentials,
        };
        let mut shelf = self.shelf();
        if let Some(pull) = shelf.pulls.0.get(&key).and_then(WeakShared::upgrade) {
            return pull;
        }
        let pull = self.clone().fetch(key.clone(), full.clone());
        let pull = pull.boxed().shared();
        shelf.pulls.0.retain(|_, pull| pull.upgrade().is_some());
        if let Some(weak) = pull.downgrade() {
            shelf.pulls.0.insert(key, weak);
        }
        pull
    }

    async fn fetch(self, key: Key, full: ImageName) -> Result<Pulled, Fail> {
        let _permit = match &self.permits {
            // The semaphore is never closed; without a permit the pull would only be unbounded.
            Some(permits) => permits.acquire().await.ok(),
            None => None,
        };
        let present = self.present(&full).await;
        let intent = Intent::begin(&self, &key.image, present.as_deref()).await?;
        let started = Instant::now();
        let answer = self.try_each(&full, &key.credentials).await;
        let took = started.elapsed();
        let end = match &answer {
            Ok((facts, credential)) => PullEnd::Pulled {
                reference: facts.reference.clone(),
                credential: credential.cloned().map(Box::new),
            },
            Err(_) => PullEnd::Failed,
        };
        intent.end(end).await;
        let mut shelf = self.shelf();
        shelf.pulls.0.remove(&key);
        let (facts, _) = answer?;
        shelf.known.insert(full, facts.clone());
        Ok(Pulled { facts, took })
    }

    /// Reference of the image that the node has now. A runtime that cannot say so has none.
    async fn present(&self, full: &ImageName) -> Option<String> {
        let known = self.shelf().known.get(full).cloned();
        let facts = match known {
            Some(facts) => Some(facts),
            None => self.runtime.image(full).await.ok().flatten(),
        };
        facts.map(|facts| facts.reference)
    }

    /// Tries credentials in turn, or none if there are none, until one works.
    async fn try_each<'a>(
        &self,
        full: &ImageName,
        credentials: &'a [PullCredential],
    ) -> Result<(ImageFacts, Option<&'a PullCredential>), Fail> {
        if credentials.is_empty() {
            return self.try_one(full, None).await;
        }
        let mut fails = Vec::new();
        for credential in credentials {
            match self.try_one(full, Some(credential)).await {
                Ok(pulled) => return Ok(pulled),
                Err(fail) => fails.push(fail),
            }
        }
        Err(all_of(fails))
    }

    async fn try_one<'a>(
        &self,
        full: &ImageName,
        credential: Option<&'a PullCredential>,
    ) -> Result<(ImageFacts, Option<&'a PullCredential>), Fail> {
        if let Some(rate) = &self.rate {
            rate.turn().await;
        }
        let facts = self.runtime.pull(full, credential).await?;
        Ok((facts, credential))
    }
}

/// One failure for several: the same one, or all texts in a list.
fn all_of(mut fails: Vec<Fail>) -> Fail {
    fails.dedup();
    match <[Fail; 1]>::try_from(fails) {
        Ok([fail]) => fail,
        Err(fails) => {
            let texts: Vec<String> = fails.into_iter().map(|fail| fail.message).collect();
            Fail::retry("ErrImagePull", format!("[{}]", texts.join(", ")))
        }
    }
}

pub(super) fn milliseconds(duration: Duration) -> Duration {
    Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}
