//! HTTP endpoints of the agent.
//!
//! In: readiness. Out: `/healthz` on the local health port. The kubelet's HTTPS API will be here, one
//! file per endpoint. Nothing here decides anything, and nothing here knows pods or devices.

mod healthz;

pub use healthz::{HealthzError, serve_healthz};
