//! The certificate with which the node speaks to the API server: had, renewed, followed.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use agent_core::Fail;

use super::connect::ConnectionSettings;
use super::error::ConnectionError;
use super::folder_events::FolderEvents;
use super::identity::Identity;
use super::kubeconfig::{Endpoint, PairSource};
use super::names::{Names, ServingNames};
use super::pair::Pair;
use super::rate::Rate;
use super::renewal::{PAUSE, chance, due, jittered, sleep_towards, stamp, tries};
use super::signing::{CLIENT, request};
use super::store::Store;
use super::transport::Transport;

/// What keeps the certificate.
pub(super) struct ClientCertificate {
    kubeconfig: PathBuf,
    bootstrap: Option<PathBuf>,
    rotate: bool,
    agent: String,
    names: Names,
    store: Store,
    transport: Arc<Transport>,
    identity: Arc<Identity>,
    /// When the present pair is renewed; `None`: it is not.
    due: Option<SystemTime>,
    /// The API server did not accept the present pair, though it has not expired.
    refused: bool,
}

/// What to do about the certificate.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// Ask for a new one.
    Ask,
    /// Nothing before then.
    Sleep(SystemTime),
    /// Nothing can be done: somebody has to bring one.
    Follow,
}

impl ClientCertificate {
    /// Presents what is on the disk.
    ///
    /// With rotation the pair in the certificate folder comes first, as with the stock kubelet, and one
    /// that is written in the kubeconfig itself is moved to that folder and renewed at once.
    pub(super) fn begin(
        settings: &ConnectionSettings,
        agent: String,
        store: Store,
        source: Option<PairSource>,
        transport: Arc<Transport>,
        identity: Arc<Identity>,
    ) -> Result<Self, ConnectionError> {
        let mut this = Self {
            kubeconfig: settings.kubeconfig.clone(),
            bootstrap: settings.bootstrap.clone(),
            rotate: settings.rotate,
            agent,
            names: Names::node(&settings.node, ServingNames::default()),
            store,
            transport,
            identity,
            due: None,
            refused: false,
        };
        match this.on_disk(source.as_ref()) {
            Ok(Some((pair, renew_now))) => {
                this.present(pair);
                if renew_now {
                    this.due = Some(SystemTime::now());
                }
            }
            Ok(None) if this.bootstrap.is_none() && !this.transport.has_token() => {
                return Err(ConnectionError::NoCredential {
                    kubeconfig: this.kubeconfig,
                });
            }
            Ok(None) => {}
            Err(error) if this.bootstrap.is_none() => return Err(error),
            Err(error) => tracing::warn!(
                error = %base_daemon::Chain(&error),
                "the node's certificate is not usable, it gets a new one"
            ),
        }
        Ok(this)
    }

    /// Keeps the certificate. Never returns.
    pub(super) async fn maintain(&mut self) {
        let mut tries = tries();
        loop {
            let next = self.next(SystemTime::now());
            if next != Next::Ask {
                tries.reset();
                self.wait(&next).await;
                continue;
            }
            if let Err(fail) = self.renew().await {
                self.refused |= fail.reason == "Unauthorized";
                let delay = jittered(tries.step());
                tracing::warn!(
                    error = %fail,
                    again_in = ?delay,
                    "the node got no certificate for the API server"
                );
                tokio::time::sleep(delay).await;
            } else {
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    fn next(&self, now: SystemTime) -> Next {
        let Some(pair) = self.identity.current().filter(|pair| !pair.is_expired(now)) else {
            let can_ask = self.bootstrap.is_some() || (self.rotate && self.transport.has_token());
            return if can_ask { Next::Ask } else { Next::Follow };
        };
        match self.due {
            Some(at) if at <= now => Next::Ask,
            Some(at) => Next::Sleep(at),
            None => Next::Sleep(pair.leaf.not_after),
        }
    }

    /// Waits for the time, or for somebody who replaces files that we do not write ourselves.
    async fn wait(&mut self, next: &Next) {
        let source = Endpoint::load(&self.kubeconfig).await.ok();
        let source = source.and_then(|endpoint| endpoint.pair);
        let theirs = !self.rotate || *next == Next::Follow;
        let mut events = match (&source, theirs) {
            (Some(source), true) => {
                let files = source.files().into_iter();
                FolderEvents::of(files.chain([self.kubeconfig.as_path()]))
            }
            (None, true) => FolderEvents::of([self.kubeconfig.as_path()]),
            (_, false) => FolderEvents::of([]),
        };
        // What changed between the last look and the beginning of the events.
        if theirs {
            self.follow(source.as_ref());
        }
        match *next {
            Next::Sleep(at) => tokio::select! {
                // Both may be cancelled: the caller looks at the clock and the files again.
                () = sleep_towards(at) => {}
                () = events.changed() => {}
            },
            Next::Follow => {
                tracing::error!(
                    kubeconfig = %self.kubeconfig.display(),
                    "the node's certificate has expired and there is nothing to get a new one with; \
                     put a valid kubeconfig there or give --bootstrap-kubeconfig"
                );
                events.changed().await;
            }
            Next::Ask => {}
        }
    }

    /// Presents the files' pair if it is another one, and usable.
    fn follow(&mut self, source: Option<&PairSource>) {
        let Some(source) = source else {
            return;
        };
        match source.load() {
            Ok(pair) => {
                let same = self
                    .identity
                    .current()
                    .is_some_and(|now| now.leaf == pair.leaf);
                if !same && !pair.is_expired(SystemTime::now()) {
                    tracing::info!("the node's certificate for the API server was replaced");
                    self.present(pair);
                }
            }
            Err(error) => tracing::warn!(
                error = %base_daemon::Chain(&error),
                "the node's certificate was replaced by one that is not usable"
            ),
        }
    }

    /// Gets a new pair signed, stores it and presents it.
    async fn renew(&mut self) -> Result<(), Fail> {
        let valid = self
            .identity
            .current()
            .is_some_and(|pair| !pair.is_expired(SystemTime::now()));
        let own = (valid && !self.refused) || self.bootstrap.is_none();
        let client = if own {
            self.transport.client(Rate::UNLIMITED)
        } else {
            self.bootstrap_client().await
        };
        let client = client.map_err(|error| unusable(&error))?;
        let issued = request(&client, &CLIENT, &self.names).await?;
        let pair = self
            .store
            .update(&issued.certificate, &issued.key, &stamp())
            .map_err(|error| unusable(&error))?;
        tracing::info!(
            until = %jiff::Timestamp::try_from(pair.leaf.not_after).unwrap_or_default(),
            "the node has a new certificate for the API server"
        );
        self.present(pair);
        self.refer().await;
        Ok(())
    }

    /// A client with the credential of the bootstrap kubeconfig.
    async fn bootstrap_client(&self) -> Result<kube::Client, ConnectionError> {
        let Some(file) = &self.bootstrap else {
            return self.transport.client(Rate::UNLIMITED);
        };
        let endpoint = Endpoint::load(file).await?;
        let identity = Identity::empty();
        if let Some(source) = &endpoint.pair {
            identity.replace(source.load()?);
        }
        Transport::new(endpoint, identity, &self.agent)?.client(Rate::UNLIMITED)
    }

    /// From now on this is who we are.
    fn present(&mut self, pair: Pair) {
        self.due = self.rotate.then(|| due(&pair.leaf, chance()));
        self.refused = false;
        self.identity.replace(pair);
        self.transport.reconnect();
    }

    /// Makes the kubeconfig refer to the certificate folder, if its own certificate is no longer
    /// usable, so that the next start finds the new one.
    async fn refer(&self) {
        let Some(bootstrap) = &self.bootstrap else {
            return;
        };
        let endpoint = Endpoint::load(&self.kubeconfig).await;
        let current = endpoint.ok().and_then(|each| each.pair?.load().ok());
        if current.is_some_and(|pair| !pair.is_expired(SystemTime::now())) {
            return;
        }
        let written = match Endpoint::load(bootstrap).await {
            Ok(endpoint) => endpoint.write_with(&self.kubeconfig, &self.store.link()),
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            tracing::warn!(
                error = %base_daemon::Chain(&error),
                "the kubeconfig does not refer to the node's new certificate, the next start will \
                 bootstrap again"
            );
        }
    }

    /// The pair to begin with, and whether it is renewed at once.
    fn on_disk(
        &self,
        source: Option<&PairSource>,
    ) -> Result<Option<(Pair, bool)>, ConnectionError> {
        let now = SystemTime::now();
        if self.rotate {
            match self.store.current() {
                Ok(Some(pair)) if !pair.is_expired(now) => return Ok(Some((pair, false))),
                Ok(_) => {}
                Err(error) => tracing::warn!(
                    error = %base_daemon::Chain(&error),
                    "the node's certificate in the certificate folder is not usable"
                ),
            }
        }
        let Some(source) = source else {
            return Ok(None);
        };
        if self.bootstrap.is_some() && source.files().iter().any(|file| !file.exists()) {
            // Not issued yet.
            return Ok(None);
        }
        let pair = source.load()?;
        let inline = source.files().is_empty();
        if self.rotate && inline && !pair.is_expired(now) {
            let (certificate, key) = source.pem()?;
            let text = |pem: Vec<u8>| String::from_utf8_lossy(&pem).into_owned();
            self.store
                .update(&text(certificate), &text(key), &stamp())?;
            return Ok(Some((pair, true)));
        }
        Ok(Some((pair, false)))
    }
}

fn unusable(error: &ConnectionError) -> Fail {
    Fail::retry("CertificateFailed", base_daemon::Chain(error).to_string())
}
