//! Why a command was not possible.

use std::error::Error as _;
use std::io;
use std::path::PathBuf;

use nvidia_ml::{DriverRootError, NodeError, ProfileError, StoreError};
use thiserror::Error;

/// A command was not possible; nothing was changed.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Profile(#[from] ProfileError),
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    DriverRoot(#[from] DriverRootError),
    #[error("no state directory: pass --state DIR or set GPUSIM_STATE")]
    NoStateDirectory,
    #[error("no GPU {name}; there are {known} (minor number, UUID or PCI address, or `all`)")]
    NoGpu { name: String, known: String },
    #[error("{0}")]
    WrongState(String),
    #[error("no NVML function {name}{hint}")]
    NoFunction { name: String, hint: String },
    #[error("cannot set {path} of {of}: {message}")]
    Set {
        of: String,
        path: String,
        message: String,
    },
    #[error("cannot find the simulated library: build it or name it with --library")]
    NoLibrary,
    #[error("cannot read {path}")]
    Script { path: PathBuf, source: io::Error },
    #[error("line {line}: {message}")]
    ScriptLine { line: usize, message: String },
    #[error("only commands that change the machine can stand in a script")]
    NotAChange,
    #[error("the state cannot be shown as JSON")]
    Json(#[from] serde_json::Error),
}

/// The text of a failure and of what caused it.
pub(crate) fn with_causes(failure: &Failure) -> String {
    let mut text = failure.to_string();
    let mut cause = failure.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
