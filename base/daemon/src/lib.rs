//! What every long-running program needs: named tasks, drain, readiness, back-off, logs, sockets.
//!
//! Nothing here would be out of place in a program about the weather: no pods, no devices.

mod backoff;
mod chain;
mod drain;
mod logging;
mod readiness;
mod socket;
mod spawn;

pub use backoff::Backoff;
pub use chain::Chain;
pub use drain::{Drain, DrainGuard};
pub use logging::{LogFormat, start_logging};
pub use readiness::{Hold, Readiness};
pub use socket::{SocketError, bind_unix};
pub use spawn::{Panicked, spawn};
