//! The health port (`healthzBindAddress`, `healthzPort`).
//!
//! Kubernetes 1.37: it answers `/healthz` with `ok` and knows `ping` only. Whoever sets up a control
//! plane waits for that answer before there is an API server, and whoever restarts an agent that does
//! not answer would help nobody when the runtime is away: so it means that the agent lives, and
//! nothing else. What start-up still waits for is told under `/readyz`, which the stock kubelet does
//! not have. Nothing on this port is authenticated, so it tells no more.

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
        .route("/healthz", get(async || "ok"))
        .route("/healthz/ping", get(async || "ok"))
        .route("/readyz", get(readyz))
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

async fn readyz(State(readiness): State<Readiness>) -> (StatusCode, String) {
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
