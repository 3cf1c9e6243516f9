//! One long-running program of a node, with its log.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::wait;

/// A started program. It is killed when dropped.
#[derive(Debug)]
pub struct Process {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `command` with both outputs appended to `log` and nothing to read. A Ctrl-C at the terminal does not
    /// reach it: whoever started it ends it in order.
    ///
    /// # Errors
    /// When the log cannot be opened or the program not be started.
    pub fn start(name: &'static str, mut command: Command, log: &Path) -> Result<Process> {
        let out = File::options().create(true).append(true).open(log)?;
        command.process_group(0);
        let child = command
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            .spawn();
        let child = child.with_context(|| format!("starting {name}"))?;
        Ok(Process {
            name,
            child,
            log: log.to_owned(),
        })
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// An error with the end of the log once the program has ended.
    pub fn alive(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => {
                bail!(
                    "{} ended ({status}); its last words:\n{}",
                    self.name,
                    tail(&self.log, 20)
                )
            }
        }
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).with_context(|| format!("signalling {}", self.name))
    }

    /// Waits at most `limit` for the program's end.
    pub async fn ended(&mut self, limit: Duration) -> Result<ExitStatus> {
        let what = format!("the end of {}", self.name);
        let child = &mut self.child;
        wait::until(&what, limit, async || {
            child.try_wait()?.context("it still runs")
        })
        .await
    }

    /// Kills it at once and waits for its end, which SIGKILL makes certain.
    pub fn kill(&mut self) {
        // An error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The last `lines` lines of a file; empty when it cannot be read.
pub fn tail(file: &Path, lines: usize) -> String {
    let text = fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let all: Vec<&str> = text.lines().collect();
    all.get(all.len().saturating_sub(lines)..)
        .unwrap_or_default()
        .join("\n")
}
