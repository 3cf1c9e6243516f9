//! Where things of pods lie: the stock kubelet's folders, since a node is taken over with pods running.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use agent_core::{ContainerName, PodUid};
use agent_loops::ports::LogOwner;

/// Mode of folders that only the agent and the runtime enter.
const FOLDER_MODE: u32 = 0o750;
/// Mode of log folders, which log collectors read.
const LOG_MODE: u32 = 0o755;

/// Folders of the agent.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    root: PathBuf,
    logs: PathBuf,
}

impl Layout {
    /// `root`: `--root-dir`; `logs`: `podLogsDir`.
    pub(crate) fn new(root: PathBuf, logs: PathBuf) -> Self {
        Self { root, logs }
    }

    /// `<root>/pods`.
    pub(crate) fn pods(&self) -> PathBuf {
        self.root.join("pods")
    }

    /// `<root>/pods/<uid>`.
    pub(crate) fn pod(&self, uid: &PodUid) -> PathBuf {
        self.pods().join(uid.as_str())
    }

    /// `<root>/pods/<uid>/volumes/kubernetes.io~<plugin>/<volume>`.
    pub(crate) fn volume(&self, uid: &PodUid, plugin: &str, volume: &str) -> PathBuf {
        self.pod(uid)
            .join("volumes")
            .join(format!("kubernetes.io~{plugin}"))
            .join(volume)
    }

    /// `<root>/pods/<uid>/volume-subpaths/<volume>/<container>/<mount index>`.
    pub(crate) fn sub_path(
        &self,
        uid: &PodUid,
        volume: &str,
        container: &ContainerName,
        mount: usize,
    ) -> PathBuf {
        let folder = self
            .pod(uid)
            .join("volume-subpaths")
            .join(volume)
            .join(container.as_str());
        folder.join(mount.to_string())
    }

    /// `<root>/pods/<uid>/containers/<container>`: termination messages.
    pub(crate) fn container(&self, uid: &PodUid, container: &ContainerName) -> PathBuf {
        self.pod(uid).join("containers").join(container.as_str())
    }

    /// `<root>/pods/<uid>/etc-hosts`.
    pub(crate) fn hosts_file(&self, uid: &PodUid) -> PathBuf {
        self.pod(uid).join("etc-hosts")
    }

    /// `<logs>/<namespace>_<name>_<uid>`.
    pub(crate) fn pod_logs(&self, pod: &LogOwner) -> PathBuf {
        self.logs
            .join(format!("{}_{}_{}", pod.namespace, pod.name, pod.uid))
    }

    /// `<logs>/<namespace>_<name>_<uid>/<container>`.
    pub(crate) fn container_logs(&self, pod: &LogOwner, container: &ContainerName) -> PathBuf {
        self.pod_logs(pod).join(container.as_str())
    }

    /// `<logs>/<namespace>_<name>_<uid>/<container>/<attempt>.log`.
    pub(crate) fn log(&self, pod: &LogOwner, container: &ContainerName, attempt: u32) -> PathBuf {
        self.container_logs(pod, container)
            .join(format!("{attempt}.log"))
    }

    /// Makes the folders that all pods share, and closes those of an older agent that are too open.
    pub(crate) fn make_shared(&self) -> io::Result<()> {
        for folder in [&self.root, &self.pods()] {
            make_folder(folder)?;
            let mode = fs::metadata(folder)?.permissions().mode();
            if mode & 0o027 != 0 {
                fs::set_permissions(folder, fs::Permissions::from_mode(mode & 0o750))?;
            }
        }
        make_log_folder(&self.logs)
    }
}

/// Makes a folder and those above it for the agent alone.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(FOLDER_MODE)
        .create(path)
}

/// Makes a folder and those above it for logs.
pub(crate) fn make_log_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(LOG_MODE)
        .create(path)
}
