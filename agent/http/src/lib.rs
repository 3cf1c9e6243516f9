//! HTTP endpoints of the agent.
//!
//! In: readiness, the board of pods, ports to the runtime, to its streams and to the control plane's
//! answers about access. Out: `/healthz` on the local health port, and the kubelet's HTTPS API.
//!
//! | Module | What |
//! |---|---|
//! | `server` | settings, TLS, connections, limits, the end |
//! | `access` | who asks and whether they may, in front of everything |
//! | `route` | paths and methods |
//! | `endpoint` | the answers, one file each |
//! | `logs` | reading and following logs of containers |
//! | `splice` | passing streams on to the runtime |
//!
//! Invariants: no request is answered that was not authenticated and authorized, whatever its path.
//! The path that is authorized is the path that is served. Nothing here changes a pod, decides
//! anything, or holds a thread while somebody is slow.

mod access;
mod answer;
mod endpoint;
mod healthz;
mod logs;
mod pods;
mod query;
mod route;
mod server;
mod splice;
#[cfg(test)]
mod testing;

pub use healthz::{HealthzError, serve_healthz};
pub use server::{
    AccessMode, PodRenderer, ServerDoors, ServerError, ServerLimits, ServerSettings, TlsError,
    TlsSettings, serve,
};
