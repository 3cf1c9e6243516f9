//! A certificate that the cluster signs, for the names and addresses that the node has.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use agent_core::Fail;
use tokio::sync::watch;

use super::files::load;
use crate::connection::connect::Connection;
use crate::connection::identity::Identity;
use crate::connection::names::{Names, ServingNames};
use crate::connection::pair::Pair;
use crate::connection::rate::Rate;
use crate::connection::renewal::{PAUSE, chance, due, jittered, sleep_towards, stamp, tries};
use crate::connection::signing::{SERVING, request};
use crate::connection::store::Store;

/// What keeps the certificate.
#[derive(Debug)]
pub(super) struct Signed {
    node: String,
    store: Store,
    identity: Arc<Identity>,
    /// When the present pair is renewed.
    due: Option<SystemTime>,
    /// The names of the newest request that was answered with a certificate: a signer may leave some
    /// out, and is not asked for them again and again.
    asked: Option<Names>,
}

impl Signed {
    /// Presents the pair in the certificate folder; if there is none, the configured files.
    pub(super) fn begin(
        node: &str,
        store: Store,
        files: Option<&(PathBuf, PathBuf)>,
        identity: Arc<Identity>,
    ) -> Self {
        let mut this = Self {
            node: node.to_owned(),
            store,
            identity,
            due: None,
            asked: None,
        };
        let stored = this.store.current().unwrap_or_else(|error| {
            tracing::warn!(
                error = %base_daemon::Chain(&error),
                "the server's certificate is not usable, the cluster is asked for a new one"
            );
            None
        });
        let now = SystemTime::now();
        let pair = stored
            .or_else(|| files.and_then(|(certificate, key)| load(certificate, key).ok()))
            .filter(|pair| !pair.is_expired(now));
        if let Some(pair) = pair {
            this.present(pair);
        }
        this
    }

    /// Keeps the certificate. Never returns.
    pub(super) async fn maintain(
        &mut self,
        connection: &Connection,
        mut names: watch::Receiver<ServingNames>,
    ) {
        let mut tries = tries();
        connection.credentialed().await;
        loop {
            let wanted = Names::node(&self.node, names.borrow_and_update().clone());
            let outcome = match self.wait(&wanted, SystemTime::now()) {
                Some(None) => {
                    changed(&mut names).await;
                    continue;
                }
                Some(Some(at)) => {
                    tries.reset();
                    tokio::select! {
                        // Both may be cancelled: clock and names are looked at again.
                        () = sleep_towards(at) => {}
                        () = changed(&mut names) => {}
                    }
                    continue;
                }
                None => tokio::select! {
                    outcome = self.renew(connection, &wanted) => outcome,
                    // The request is for names that the node does not have any more; the cluster
                    // forgets it.
                    () = changed(&mut names) => continue,
                },
            };
            if let Err(fail) = outcome {
                let delay = jittered(tries.step());
                tracing::warn!(
                    error = %fail,
                    again_in = ?delay,
                    "the node got no certificate for its server"
                );
                tokio::time::sleep(delay).await;
            } else {
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// Until when to wait, `Some(None)`: until the names change. `None`: ask now. Without an address
    /// nothing is asked for (Kubernetes 1.37).
    #[allow(clippy::option_option)] // three answers, each named above
    fn wait(&self, wanted: &Names, now: SystemTime) -> Option<Option<SystemTime>> {
        if wanted.alternatives.addresses.is_empty() {
            return Some(None);
        }
        let pair = self
            .identity
            .current()
            .filter(|pair| !pair.is_expired(now))?;
        if !wanted.covered_by(&pair.leaf) && self.asked.as_ref() != Some(wanted) {
            return None;
        }
        self.due.filter(|at| *at > now).map(Some)
    }

    async fn renew(&mut self, connection: &Connection, wanted: &Names) -> Result<(), Fail> {
        let unusable =
            |error| Fail::retry("CertificateFailed", base_daemon::Chain(&error).to_string());
        let client = connection.client_with(Rate::UNLIMITED).map_err(unusable)?;
        let issued = request(&client, &SERVING, wanted).await?;
        let pair = self
            .store
            .update(&issued.certificate, &issued.key, &stamp())
            .map_err(unusable)?;
        tracing::info!(
            until = %jiff::Timestamp::try_from(pair.leaf.not_after).unwrap_or_default(),
            "the node has a new certificate for its server"
        );
        self.asked = Some(wanted.clone());
        self.present(pair);
        Ok(())
    }

    fn present(&mut self, pair: Pair) {
        self.due = Some(due(&pair.leaf, chance()));
        self.identity.replace(pair);
    }
}

/// Waits for other names; for ever when nobody can send any more.
async fn changed(names: &mut watch::Receiver<ServingNames>) {
    if names.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}
