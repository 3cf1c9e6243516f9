//! Connection to the API server, and the node's certificates for both directions.
//!
//! In: kubeconfig, bootstrap kubeconfig, certificate folder, addresses of the node. Out: clients that
//! keep working when the certificate below them is replaced, and the certificate that the node's own
//! server presents.
//!
//! Nothing here ends because a certificate is missing, expired, refused or unreadable: it says so and
//! tries again. Keys and tokens appear in no log, error or `Debug`.

mod client_certificate;
mod connect;
mod error;
mod folder_events;
mod identity;
mod kubeconfig;
mod names;
mod pair;
mod proxy;
mod rate;
mod renewal;
mod serving;
mod signing;
mod store;
mod token_file;
mod transport;

pub use connect::{Connection, ConnectionSettings};
pub use error::ConnectionError;
pub use names::{NodeAddress, ServingNames};
pub use rate::Rate;
pub use serving::{ServingCertificate, ServingSettings};

#[cfg(test)]
mod tests;
