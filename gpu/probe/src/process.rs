//! One child process: started, listened to, killed.

use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::sync::oneshot;

use crate::settings::ProbeSettings;

/// Children that were killed and have not ended, because a thread of theirs hangs in the kernel, before
/// no more are started: each holds memory and a process id.
const MAX_UNDEAD: usize = 3;

/// Longest line of the child's log.
const MAX_LINE: u64 = 4096;

/// Why there is no child.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    /// The settings name no program.
    #[error("no command is set for the process that talks to NVML")]
    NoCommand,
    /// Too many hang in the kernel.
    #[error("{MAX_UNDEAD} killed processes hang in the GPU driver and cannot end; reboot the node")]
    Undead,
    /// The system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// A running child. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct ChildProcess {
    pidfd: OwnedFd,
}

/// What belongs to a child that was started.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) process: ChildProcess,
    /// Requests go in, answers come out.
    pub(crate) socket: UnixStream,
    /// Tells how it ended.
    pub(crate) ended: oneshot::Receiver<String>,
}

/// Counts children that have not ended, whether they were killed or not.
#[derive(Clone, Debug, Default)]
pub(crate) struct Living(Arc<AtomicUsize>);

/// Starts a child. It is started and waited for by a thread of its own: the signal that ends it with its
/// parent is sent when the *thread* that started it ends, and threads of the runtime come and go.
pub(crate) async fn start(
    settings: &ProbeSettings,
    living: &Living,
) -> Result<Started, StartError> {
    if living.0.load(Ordering::Acquire) > MAX_UNDEAD {
        return Err(StartError::Undead);
    }
    let (program, arguments) = settings.child.split_first().ok_or(StartError::NoCommand)?;
    let (ours, theirs) = UnixStream::pair()?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        // One arena for all of its mostly idle threads.
        .env("MALLOC_ARENA_MAX", "1")
        // Ctrl-C in a terminal is for the parent, which then ends this.
        .process_group(0);
    let (tell_start, started) = oneshot::channel();
    let (tell_end, ended) = oneshot::channel();
    let living = living.clone();
    thread::Builder::new()
        .name("nvml-child".to_owned())
        .spawn(move || {
            attend(command, &living, tell_start, tell_end);
        })?;
    let gone = |_| io::Error::other("its thread ended");
    let pidfd = started.await.map_err(gone)??;
    Ok(Started {
        process: ChildProcess { pidfd },
        socket: ours,
        ended,
    })
}

impl ChildProcess {
    /// Ends it, whatever it does.
    pub(crate) fn kill(&self) {
        // It fails when the child has ended, which is what is wanted.
        let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The life of a child, from its parent's side.
fn attend(
    mut command: Command,
    living: &Living,
    tell_start: oneshot::Sender<io::Result<OwnedFd>>,
    tell_end: oneshot::Sender<String>,
) {
    let (mut child, pidfd) = match spawn(&mut command) {
        Ok(spawned) => spawned,
        Err(error) => return drop(tell_start.send(Err(error))),
    };
    // The other end of the socket: without it, the child's end is never seen.
    drop(command);
    living.0.fetch_add(1, Ordering::AcqRel);
    if let Err(Ok(pidfd)) = tell_start.send(Ok(pidfd)) {
        // Nobody waits for it any more.
        let _ = pidfd_send_signal(pidfd, Signal::KILL);
    }
    if let Some(log) = child.stderr.take() {
        relay(log);
    }
    let how = match child.wait() {
        Ok(status) => describe(status),
        Err(error) => error.to_string(),
    };
    living.0.fetch_sub(1, Ordering::AcqRel);
    // Nobody listens after a kill.
    let _ = tell_end.send(how);
}

fn spawn(command: &mut Command) -> io::Result<(Child, OwnedFd)> {
    let mut child = command.spawn()?;
    let pidfd = i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .ok_or(rustix::io::Errno::SRCH)
        .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()));
    match pidfd {
        Ok(pidfd) => Ok((child, pidfd)),
        Err(error) => {
            // It is our child and not waited for yet, so the number is still its own.
            let _ = child.kill();
            let _ = child.wait();
            Err(error.into())
        }
    }
}

/// Puts the child's log into ours, until the child ends.
fn relay(log: ChildStderr) {
    let mut log = BufReader::new(log);
    let mut line = Vec::new();
    while (&mut log)
        .take(MAX_LINE)
        .read_until(b'\n', &mut line)
        .is_ok_and(|length| length > 0)
    {
        tracing::warn!(nvml = %String::from_utf8_lossy(&line).trim_end(), "from the NVML process");
        line.clear();
    }
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "for no known reason".to_owned(),
    }
}
