//! Credentials in memory, and registries that ask for them.

use std::collections::{BTreeMap, BTreeSet};

use agent_core::{Fail, ImageName, Time};
use agent_loops::ports::{
    Keyring, Leave, ListedImage, PullCredential, PullEnd, References, WantedPod,
};
use async_trait::async_trait;

use crate::world::World;

/// Who has which credentials, and which images need them. Without any, every image is everybody's.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    /// Passwords of pods, by pod name.
    pub of_pods: BTreeMap<String, Vec<String>>,
    /// Passwords that registries ask for.
    pub locks: BTreeMap<ImageName, String>,
    /// Names of pull secrets that are missing.
    pub missing: Vec<String>,
    /// Images on the node that were pulled with these passwords and are nobody else's.
    pub holders: BTreeMap<ImageName, BTreeSet<String>>,
    /// Passwords that pulls were tried with; an empty one for none.
    pub tried: Vec<(ImageName, String)>,
    /// Pulls that began and did not end.
    pub open: Vec<ImageName>,
    /// Ends of pulls.
    pub ends: Vec<(ImageName, PullEnd)>,
}

/// The keyring of the world.
#[derive(Debug)]
pub(crate) struct FakeKeyring {
    pub(crate) world: World,
}

#[async_trait]
impl Keyring for FakeKeyring {
    fn missing(&self, _pod: &WantedPod, _references: &References) -> Vec<String> {
        self.world.read(|state| state.keys.missing.clone())
    }

    async fn credentials(
        &self,
        _image: &ImageName,
        pod: &WantedPod,
        _references: &References,
    ) -> Result<Vec<PullCredential>, Fail> {
        let credential = |password: &String| PullCredential {
            password: password.clone(),
            ..Default::default()
        };
        Ok(self.world.read(|state| {
            let passwords = state.keys.of_pods.get(&*pod.want.name.name);
            passwords.into_iter().flatten().map(credential).collect()
        }))
    }

    async fn leave(&self, image: &ImageName, _reference: &str) -> Leave {
        self.world
            .read(|state| match state.keys.holders.get(image) {
                Some(_) => Leave::Holders,
                None => Leave::Everybody,
            })
    }

    async fn may_use(
        &self,
        image: &ImageName,
        _reference: &str,
        credentials: &[PullCredential],
    ) -> bool {
        self.world.read(|state| {
            let holders = state.keys.holders.get(image);
            credentials
                .iter()
                .any(|each| holders.is_some_and(|holders| holders.contains(&each.password)))
        })
    }

    async fn pulling(&self, image: &ImageName, _present: Option<&str>) -> Result<(), Fail> {
        self.world
            .change(|state| state.keys.open.push(image.clone()));
        Ok(())
    }

    async fn pulled(&self, image: &ImageName, end: PullEnd) {
        self.world.change(|state| {
            let keys = &mut state.keys;
            if let Some(index) = keys.open.iter().position(|open| open == image) {
                keys.open.remove(index);
            }
            if let PullEnd::Pulled {
                credential: Some(credential),
                ..
            } = &end
            {
                let holders = keys.holders.entry(image.clone()).or_default();
                holders.insert(credential.password.clone());
            }
            keys.ends.push((image.clone(), end));
        });
    }

    fn leftovers(&self) -> bool {
        false
    }

    async fn settle(&self, _images: &[ListedImage]) {}

    async fn prune(&self, _images: &[ListedImage], _before: Time) {}
}
