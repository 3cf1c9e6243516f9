//! The program `mount`, for file systems whose options it knows how to write.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// Longest wait. A server that does not answer keeps its own pod waiting, and no thread for ever.
const LONGEST: Timespec = Timespec {
    tv_sec: 120,
    tv_nsec: 0,
};
/// Most that is shown of what the program says.
const SAID: u64 = 2048;

/// Runs `program`. The error is told as the stock kubelet does.
pub(super) fn run(program: &Path, arguments: &[&str]) -> Result<(), String> {
    attempt(program, arguments).map_err(|(status, output)| {
        let program = program.file_name().unwrap_or_default().display();
        let arguments = arguments.join(" ");
        format!(
            "mount failed: {status}\nMounting command: {program}\nMounting arguments: {arguments}\n\
             Output: {output}"
        )
    })
}

/// Status and output of a failure.
fn attempt(program: &Path, arguments: &[&str]) -> Result<(), (String, String)> {
    let broken = |error: io::Error| (error.to_string(), String::new());
    // A file, not a pipe: children that the program leaves behind would keep a pipe open.
    let said =
        memfd_create("mount-output", MemfdFlags::CLOEXEC).map_err(|error| broken(error.into()))?;
    let mut said = File::from(said);
    let [out, err] = [said.try_clone(), said.try_clone()];
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(out.map_err(broken)?)
        .stderr(err.map_err(broken)?)
        .spawn()
        .map_err(broken)?;
    let status = wait(&mut child);
    let mut output = Vec::new();
    // Without its words the status has to do.
    let _ = said
        .rewind()
        .and_then(|()| said.take(SAID).read_to_end(&mut output));
    let output = String::from_utf8_lossy(&output).into_owned();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err((told(status), output)),
        Err(error) => Err((error.to_string(), output)),
    }
}

fn told(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit status {code}"),
        None => status.to_string(),
    }
}

fn wait(child: &mut Child) -> io::Result<ExitStatus> {
    let ended = || -> io::Result<bool> {
        let process = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
        let mut watched = [PollFd::new(&process, PollFlags::IN)];
        Ok(poll(&mut watched, Some(&LONGEST))? > 0)
    };
    // Asking can break off with a signal; then it is waited for without a limit.
    if ended().unwrap_or(true) {
        return child.wait();
    }
    child.kill()?;
    child.wait()?;
    Err(io::Error::new(
        io::ErrorKind::TimedOut,
        format!("no end within {} s", LONGEST.tv_sec),
    ))
}

#[cfg(test)]
mod tests;
