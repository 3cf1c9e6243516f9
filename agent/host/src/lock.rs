//! One kubelet for a root directory, whoever made it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use tokio::net::UnixStream;
use tokio::time::timeout;

/// Sockets, below the root directory, that a running stock kubelet listens on. A socket that takes a
/// connection has a living process behind it; one that was left behind refuses.
const SOCKETS: &[&str] = &["pod-resources/kubelet.sock", "device-plugins/kubelet.sock"];

/// Time for a connection to a local socket. A kubelet that hangs is running, too.
const PATIENCE: Duration = Duration::from_secs(1);

/// The right to the root directory, until it is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct RootLock {
    _file: File,
}

/// Why the root directory is not ours.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another gpulet.
    #[error(
        "another gpulet runs on {root}{}; stop it, or give this one another --root-dir",
        process(.pid)
    )]
    Gpulet {
        /// `--root-dir`.
        root: PathBuf,
        /// Its process.
        pid: Option<i32>,
    },
    /// A stock kubelet.
    #[error(
        "a kubelet runs on {root}{} and answers on {socket}; stop it first, its pods go on",
        process(.pid)
    )]
    Kubelet {
        /// `--root-dir`.
        root: PathBuf,
        /// The socket that answers.
        socket: PathBuf,
        /// Its process.
        pid: Option<i32>,
    },
    /// The lock file.
    #[error("lock file {path} cannot be used; fix the permissions of its folder")]
    File {
        /// Which.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
}

fn process(pid: &Option<i32>) -> String {
    pid.map_or(String::new(), |pid| format!(" (process {pid})"))
}

impl RootLock {
    /// Takes the root directory, or says who has it. Makes the directory if it is missing.
    pub async fn take(root: &Path) -> Result<Self, LockError> {
        let path = root.join("gpulet.lock");
        let failed = |source| LockError::File {
            path: path.clone(),
            source,
        };
        crate::layout::make_folder(root).map_err(failed)?;
        let mut options = OpenOptions::new();
        let options = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600);
        let mut file = options.open(&path).map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                return Err(LockError::Gpulet {
                    root: root.to_owned(),
                    pid: read_pid(&mut file),
                });
            }
            Err(error) => return Err(failed(error.into())),
        }
        for socket in SOCKETS.iter().map(|socket| root.join(socket)) {
            if let Some(pid) = listener(&socket).await {
                return Err(LockError::Kubelet {
                    root: root.to_owned(),
                    socket,
                    pid,
                });
            }
        }
        write_pid(&mut file).map_err(failed)?;
        Ok(Self { _file: file })
    }
}

/// The process that listens on a socket, if somebody does; inside, `None` if it cannot be told.
async fn listener(socket: &Path) -> Option<Option<i32>> {
    match timeout(PATIENCE, UnixStream::connect(socket)).await {
        Ok(Ok(stream)) => Some(stream.peer_cred().ok().and_then(|peer| peer.pid())),
        // Its queue is full, or it takes no connection: it hangs, and so it runs.
        Ok(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => Some(None),
        Err(_) => Some(None),
        Ok(Err(_)) => None,
    }
}

fn read_pid(file: &mut File) -> Option<i32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    writeln!(file, "{}", std::process::id())
}

#[cfg(test)]
mod tests;
