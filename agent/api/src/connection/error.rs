//! Why there is no connection, or no certificate.

use std::path::{Path, PathBuf};

/// Why a connection cannot be opened or a certificate cannot be had. Holds no key and no token.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// A file that cannot be read.
    #[error("{} cannot be read ({what})", .file.display())]
    Read {
        /// Which.
        file: PathBuf,
        /// What it is for: a flag or a field of the kubeconfig.
        what: &'static str,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A file or folder that cannot be written.
    #[error("{} cannot be written ({what}), the kubelet needs a place for its certificates", .file.display())]
    Write {
        /// Which.
        file: PathBuf,
        /// What it is for.
        what: &'static str,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A kubeconfig that is not usable.
    #[error("kubeconfig {}: {field}: {why}", .file.display())]
    Kubeconfig {
        /// Which.
        file: PathBuf,
        /// Field, as in the file.
        field: String,
        /// What is wrong and what to do.
        why: String,
    },
    /// A certificate or key that is not usable.
    #[error("{place}: {why}")]
    Pair {
        /// File, or file and field.
        place: String,
        /// What is wrong.
        why: String,
    },
    /// A certificate that was asked for and not given.
    #[error("{0}")]
    Signing(String),
    /// No certificate, and nothing to ask for one with.
    #[error(
        "{} has no usable credential, and there is no --bootstrap-kubeconfig to get one with; \
         join the node again or put a new kubeconfig there", .kubeconfig.display()
    )]
    NoCredential {
        /// The kubeconfig.
        kubeconfig: PathBuf,
    },
    /// A client that cannot be built.
    #[error("the connection to {server} cannot be set up: {why}")]
    Client {
        /// Address of the API server.
        server: String,
        /// Why.
        why: String,
    },
}

impl ConnectionError {
    pub(super) fn field(file: &Path, field: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Kubeconfig {
            file: file.to_owned(),
            field: field.into(),
            why: why.into(),
        }
    }

    pub(super) fn pair(place: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Pair {
            place: place.into(),
            why: why.into(),
        }
    }
}

/// Reads a file, with an error that says what it is for.
pub(super) fn read(file: &Path, what: &'static str) -> Result<Vec<u8>, ConnectionError> {
    std::fs::read(file).map_err(|source| ConnectionError::Read {
        file: file.to_owned(),
        what,
        source,
    })
}
