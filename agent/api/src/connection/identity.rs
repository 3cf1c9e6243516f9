//! The certificate that is presented, replaceable under running connections.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::ArcSwapOption;
use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::sync::watch;

use super::pair::Pair;

/// What a handshake presents: always the newest pair, or nothing as long as there is none.
pub(super) struct Identity {
    current: ArcSwapOption<Pair>,
    expiry: watch::Sender<Option<SystemTime>>,
}

impl Identity {
    /// Without a pair.
    pub(super) fn empty() -> Arc<Self> {
        Arc::new(Self {
            current: ArcSwapOption::empty(),
            expiry: watch::Sender::new(None),
        })
    }

    /// The next handshake presents this.
    pub(super) fn replace(&self, pair: Pair) {
        let end = pair.leaf.not_after;
        self.current.store(Some(Arc::new(pair)));
        self.expiry.send_replace(Some(end));
    }

    /// What is presented now.
    pub(super) fn current(&self) -> Option<Arc<Pair>> {
        self.current.load_full()
    }

    /// Until when the present pair is valid; `None`: there is none yet.
    pub(super) fn expiry(&self) -> watch::Receiver<Option<SystemTime>> {
        self.expiry.subscribe()
    }

    fn certified(&self) -> Option<Arc<CertifiedKey>> {
        let pair = self.current.load();
        Some(Arc::clone(&pair.as_ref()?.certified))
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pair = self.current.load();
        f.debug_struct("Identity")
            .field("leaf", &pair.as_ref().map(|pair| &pair.leaf))
            .finish_non_exhaustive()
    }
}

impl ResolvesClientCert for Identity {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.certified()
    }

    fn has_certs(&self) -> bool {
        self.current.load().is_some()
    }
}

impl ResolvesServerCert for Identity {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.certified()
    }
}
