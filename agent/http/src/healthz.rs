//! `/healthz` of the health port (`healthzBindAddress`, `healthzPort`).
//!
//! Kubernetes 1.37: the health port answers `/healthz` with `ok` and knows `ping` only; nothing on it
//! is authenticated, so nothing on it tells more than which part of start-up is missing.

use std::io;
use std::net::{IpAddr, SocketAddr};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use base_daemon::{DrainGuard, Readiness};
use tokio::net::TcpListener;

/// The health port cannot be served. The agent goes on without it.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address} for /healthz; free the port or set healthzPort")]
pub struct HealthzError {
    /// Where.
    pub address: SocketAddr,
    /// Cause.
    #[source]
    pub source: io::Error,
}

/// Binds the port and serves it until the drain. The returned future does the serving; binding is
/// over when this returns, so that a port that is taken is known at start.
pub async fn serve_healthz(
    address: IpAddr,
    port: u16,
    readiness: Readiness,
    guard: DrainGuard,
) -> Result<(SocketAddr, impl Future<Output = ()> + Send + 'static), HealthzError> {
    let address = SocketAddr::new(address, port);
    let failed = |source| HealthzError { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let routes = Router::new()
        .route("/healthz", get(healthz))
        .route("/healthz/ping", get(async || "ok"))
        .with_state(readiness);
    let serving = async move {
        let server = axum::serve(listener, routes);
        // Cancelled when the drain begins: open connections carry one short answer each.
        tokio::select! {
            _ = server => {}
            () = guard.ending() => {}
        }
    };
    Ok((bound, serving))
}

async fn healthz(State(readiness): State<Readiness>) -> (StatusCode, String) {
    match readiness.pending().as_slice() {
        [] => (StatusCode::OK, "ok".to_owned()),
        missing => {
            let text = format!("not ready, waiting for: {}\n", missing.join(", "));
            (StatusCode::INTERNAL_SERVER_ERROR, text)
        }
    }
}

#[cfg(test)]
mod tests;
