//! Where this machine keeps its driver.

use std::path::PathBuf;

/// Folders and programs that a document refers to. For a driver that is installed on the host all are
/// the host's own; a driver in a container or a simulated one has its own root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Root of the driver's files: its `usr/lib/…` becomes the container's `/usr/lib/…`.
    pub driver_root: PathBuf,
    /// Root above `dev`: its `dev/nvidia0` becomes the container's `/dev/nvidia0`.
    pub dev_root: PathBuf,
    /// Where proc is.
    pub proc_root: PathBuf,
    /// Where sysfs is.
    pub sys_root: PathBuf,
    /// The program that runs the hooks, absolute: the agent's own.
    pub hook: PathBuf,
}

impl Site {
    /// A driver that is installed on the host itself.
    pub fn host(hook: PathBuf) -> Self {
        let root = || PathBuf::from("/");
        Self {
            driver_root: root(),
            dev_root: root(),
            proc_root: PathBuf::from("/proc"),
            sys_root: PathBuf::from("/sys"),
            hook,
        }
    }
}
