//! What a probe needs to know.

use std::ffi::OsString;
use std::path::PathBuf;

/// Settings of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeSettings {
    /// This very library and no other.
    pub library: Option<PathBuf>,
    /// Folders that are looked into first: those of a driver root that is not `/`. After them comes what
    /// the dynamic loader finds.
    pub search: Vec<PathBuf>,
    /// Command that starts the child: a program whose `main` calls [`crate::child_main`] for these
    /// arguments. Its standard input is a socket; it inherits the environment.
    pub child: Vec<OsString>,
    /// Where sysfs is mounted.
    pub sysfs: PathBuf,
    /// Where device nodes lie: a node that appears or goes there means that a look is worth while.
    pub dev: PathBuf,
}

impl ProbeSettings {
    /// Settings for this machine: the loader's library, `/sys`, `/dev`, and this same executable with one
    /// argument as the child, so that both share their text pages.
    pub fn for_this_program(argument: &str) -> Self {
        Self {
            library: None,
            search: Vec::new(),
            // Not its path: that may be replaced by a newer version while this one runs.
            child: vec![OsString::from("/proc/self/exe"), OsString::from(argument)],
            sysfs: PathBuf::from("/sys"),
            dev: PathBuf::from("/dev"),
        }
    }
}
