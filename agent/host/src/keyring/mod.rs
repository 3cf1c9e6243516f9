//! Credentials for registries: pull secrets of pods, files of the node, credential providers. And the
//! records of pulls, which say who may use an image that is there.

mod docker;
mod files;
mod glob;
mod index;
mod provider;
mod records;
mod secrets;

use std::path::PathBuf;
use std::sync::Arc;

use agent_core::{Fail, ImageName, ImageReference, Time};
use agent_loops::ports::{
    Keyring, Leave, ListedImage, PullCredential, PullEnd, References, ServiceAccounts, WantedPod,
};
use async_trait::async_trait;

use self::files::NodeFiles;
pub use self::provider::ProviderError;
use self::provider::Providers;
use self::records::Records;
pub use self::records::{PolicyError, RecordError};

/// What the keyring of a node is made from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyringSettings {
    /// `--root-dir`: the node's Docker configuration may lie there, and the records do.
    pub root: PathBuf,
    /// Home of the user that the agent runs as, if it has one.
    pub home: Option<PathBuf>,
    /// `imagePullCredentialsVerificationPolicy`.
    pub verification: String,
    /// `preloadedImagesVerificationAllowlist`.
    pub allowlist: Vec<String>,
    /// `--image-credential-provider-config`, a file or a folder, and `--image-credential-provider-bin-dir`.
    pub providers: Option<(PathBuf, PathBuf)>,
}

/// Credentials of this node and of its pods.
#[derive(Debug)]
pub struct NodeKeyring {
    files: NodeFiles,
    providers: Providers,
    records: Arc<Records>,
}

/// Why there is no keyring.
#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    /// The credential providers cannot be used.
    #[error("credential providers")]
    Providers(#[from] ProviderError),
    /// The verification policy cannot be used.
    #[error("verification of pull credentials")]
    Policy(#[from] PolicyError),
    /// The records cannot be kept.
    #[error("records of image pulls")]
    Records(#[from] RecordError),
}

impl NodeKeyring {
    /// Reads configuration and records. `accounts` serves credential providers that act in the name of
    /// a ServiceAccount; without it they are not asked. Blocks on files.
    pub fn open(
        settings: &KeyringSettings,
        accounts: Option<Arc<dyn ServiceAccounts>>,
    ) -> Result<Self, KeyringError> {
        let providers = match &settings.providers {
            Some((config, programs)) => Providers::read(config, programs, accounts)?,
            None => Providers::default(),
        };
        let policy = records::Policy::new(&settings.verification, &settings.allowlist)?;
        Ok(Self {
            files: NodeFiles::new(&settings.root, settings.home.as_deref()),
            providers,
            records: Arc::new(Records::open(&settings.root, policy)?),
        })
    }

    /// The records do their work on files, off the async threads.
    async fn with_records<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Records) -> T + Send + 'static,
    ) -> Option<T> {
        let records = Arc::clone(&self.records);
        let result = tokio::task::spawn_blocking(move || work(&records)).await;
        // An error is a panic, which the runtime has told, or the end of the process.
        result.ok()
    }
}

#[async_trait]
impl Keyring for NodeKeyring {
    fn missing(&self, pod: &WantedPod, references: &References) -> Vec<String> {
        secrets::missing(pod, references)
    }

    async fn credentials(
        &self,
        image: &ImageName,
        pod: &WantedPod,
        references: &References,
    ) -> Result<Vec<PullCredential>, Fail> {
        let repository = match ImageReference::parse(image.as_str()) {
            Ok(reference) => reference.repository(),
            Err(error) => return Err(Fail::permanent("InvalidImageName", error.to_string())),
        };
        let mut found = secrets::index(pod, references).lookup(&repository);
        found.extend(self.files.index().await.lookup(&repository));
        found.extend(
            self.providers
                .index(&repository, pod)
                .await
                .lookup(&repository),
        );
        Ok(found)
    }

    async fn leave(&self, image: &ImageName, reference: &str) -> Leave {
        let (image, reference) = (image.clone(), reference.to_owned());
        self.with_records(move |records| records.leave(image.as_str(), &reference))
            .await
            .unwrap_or(Leave::Nobody)
    }

    async fn may_use(
        &self,
        image: &ImageName,
        reference: &str,
        credentials: &[PullCredential],
    ) -> bool {
        let (image, reference) = (image.clone(), reference.to_owned());
        let credentials = credentials.to_vec();
        self.with_records(move |records| records.may_use(image.as_str(), &reference, &credentials))
            .await
            .unwrap_or(false)
    }

    async fn pulling(&self, image: &ImageName, present: Option<&str>) -> Result<(), Fail> {
        let (image, present) = (image.clone(), present.map(str::to_owned));
        let written = self
            .with_records(move |records| records.pulling(image.as_str(), present.as_deref()))
            .await;
        match written {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => Err(Fail::retry(
                "ErrImagePull",
                base_daemon::Chain(&error).to_string(),
            )),
            None => Err(Fail::retry("ErrImagePull", "the agent is ending")),
        }
    }

    async fn pulled(&self, image: &ImageName, end: PullEnd) {
        let image = image.clone();
        self.with_records(move |records| records.pulled(image.as_str(), &end))
            .await;
    }

    fn leftovers(&self) -> bool {
        self.records.leftovers()
    }

    async fn settle(&self, images: &[ListedImage]) {
        let images = images.to_vec();
        self.with_records(move |records| records.settle(&images))
            .await;
    }

    async fn prune(&self, images: &[ListedImage], before: Time) {
        let references = images.iter().map(|image| image.id.clone()).collect();
        self.with_records(move |records| records.prune(&references, before))
            .await;
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
