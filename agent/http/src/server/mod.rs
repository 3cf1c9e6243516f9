//! The kubelet's HTTPS server: settings, ports, and the loop that accepts connections.

mod connection;
mod settings;
mod tls;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base_daemon::{Chain, DrainGuard};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

pub(crate) use connection::Caller;
pub use settings::{
    AccessMode, PodRenderer, ServerDoors, ServerLimits, ServerSettings, TlsSettings,
};
pub use tls::TlsError;

use crate::access::ClientAuthority;

/// Pause after a connection could not be accepted, which is nearly always a lack of descriptors.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Why the server cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The port is not to be had.
    #[error("cannot listen on {address} for the kubelet's API; free the port or set another one")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// TLS settings.
    #[error("the kubelet's API cannot be served over TLS")]
    Tls(#[from] TlsError),
}

/// What every request needs.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) settings: ServerSettings,
    pub(crate) doors: ServerDoors,
    pub(crate) authority: Option<ClientAuthority>,
    /// True when the server ends: whoever streams stops.
    pub(crate) closing: watch::Receiver<bool>,
}

/// Binds the port and serves it until the drain. The returned future does the serving; binding is
/// over when this returns, so that a port that is taken is known at start.
pub async fn serve(
    settings: ServerSettings,
    doors: ServerDoors,
    guard: DrainGuard,
) -> Result<(SocketAddr, impl Future<Output = ()> + Send + 'static), ServerError> {
    let authority = settings.client_ca.clone().map(ClientAuthority::new);
    let config = tls::config(&settings.tls, &doors.certificate, authority.is_some())?;
    let address = SocketAddr::new(settings.address, settings.port);
    let failed = |source| ServerError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let (close, closing) = watch::channel(false);
    let server = Arc::new(Server {
        settings,
        doors,
        authority,
        closing,
    });
    let acceptor = TlsAcceptor::from(Arc::new(config));
    Ok((bound, run(server, listener, acceptor, close, guard)))
}

async fn run(
    server: Arc<Server>,
    listener: TcpListener,
    acceptor: TlsAcceptor,
    close: watch::Sender<bool>,
    guard: DrainGuard,
) {
    let limits = server.settings.limits;
    let room = Arc::new(Semaphore::new(limits.connections));
    let mut connections = JoinSet::new();
    loop {
        // Cancelled between connections only: a place that was taken goes back when it is dropped.
        tokio::select! {
            (stream, peer, place) = accept(&listener, &room) => {
                let served = connection::serve(Arc::clone(&server), acceptor.clone(), stream, peer, place);
                connections.spawn(served);
            }
            Some(ended) = connections.join_next(), if !connections.is_empty() => {
                if let Err(error) = ended && error.is_panic() {
                    tracing::error!("a connection to the kubelet's API panicked: {}", Chain(&error));
                }
            }
            () = guard.ending() => break,
        }
    }
    drop(listener);
    close.send_replace(true);
    // What is not answered by then is cut: whoever asked asks again.
    let finished = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(limits.drain, finished).await.is_err() {
        tracing::debug!("some requests to the kubelet's API were cut off");
    }
}

/// The next connection, once there is room for it.
async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> (TcpStream, SocketAddr, Option<OwnedSemaphorePermit>) {
    // Never closed, so there always is a place some day.
    let place = Arc::clone(room).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return (stream, peer, place),
            Err(error) => {
                tracing::warn!("a connection could not be accepted: {}", Chain(&error));
                tokio::time::sleep(ACCEPT_AGAIN).await;
            }
        }
    }
}

/// Resolves when `flag` is true, or when nobody can set it any more. Safe to cancel.
pub(crate) async fn until(flag: &mut watch::Receiver<bool>) {
    let _ = flag.wait_for(|set| *set).await;
}

#[cfg(test)]
mod tests;
