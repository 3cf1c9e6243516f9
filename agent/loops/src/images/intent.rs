//! The intent to pull: on record from before the pull begins until its end is known.

use std::sync::Arc;

use agent_core::{Fail, ImageName};
use tokio::runtime::Handle;

use super::Images;
use crate::ports::{Keyring, PullEnd, Runtime};

/// Without it a pull that this process did not live to see the end of would leave an image that looks
/// as if somebody had put it there for everybody.
#[derive(Debug)]
pub(super) struct Intent {
    runtime: Arc<dyn Runtime>,
    keyring: Arc<dyn Keyring>,
    image: ImageName,
    open: bool,
}

impl Intent {
    pub(super) async fn begin(
        images: &Images,
        image: &ImageName,
        present: Option<&str>,
    ) -> Result<Self, Fail> {
        // Made first: a drop while the record is written has to end it, too.
        let intent = Self {
            runtime: Arc::clone(&images.runtime),
            keyring: Arc::clone(&images.keyring),
            image: image.clone(),
            open: true,
        };
        match intent.keyring.pulling(image, present).await {
            Ok(()) => Ok(intent),
            Err(fail) => {
                let message = format!(
                    "Failed to record image pull intent for container image \"{image}\": {}",
                    fail.message
                );
                Err(Fail { message, ..fail })
            }
        }
    }

    pub(super) async fn end(mut self, end: PullEnd) {
        self.keyring.pulled(&self.image, end).await;
        self.open = false;
    }
}

/// Nobody waits for the pull any more. It may have ended all the same, so the runtime is asked.
impl Drop for Intent {
    fn drop(&mut self) {
        if !self.open || Handle::try_current().is_err() {
            return;
        }
        let (runtime, keyring) = (Arc::clone(&self.runtime), Arc::clone(&self.keyring));
        let image = self.image.clone();
        drop(base_daemon::spawn("end of a dropped pull", async move {
            let end = match runtime.image(&image).await {
                Ok(None) => PullEnd::Failed,
                Ok(Some(_)) | Err(_) => PullEnd::Unknown,
            };
            keyring.pulled(&image, end).await;
        }));
    }
}
