//! One run of the program.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;
use tokio::time::timeout;

/// Longest run: a look at a library that does not start takes 15 s.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a run printed and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The program with an environment of its own: nothing of the machine that the test runs on.
pub(crate) fn gpuctl(socket: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpuctl"));
    command
        .env_clear()
        .env("TZ", "UTC")
        .env("GPULET_SOCKET", socket)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

pub(crate) async fn finish(command: &mut Command) -> Ran {
    let output = timeout(PATIENCE, command.output())
        .await
        .expect("it ends")
        .unwrap();
    Ran {
        code: output.status.code().expect("it ends by itself"),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Without an agent, and without a driver.
pub(crate) async fn alone<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Ran {
    let mut command = gpuctl(Path::new("/nonexistent/gpulet.sock"));
    let nowhere = ["--nvml-library", "/nonexistent/libnvidia-ml.so.1"];
    finish(command.args(nowhere).args(arguments)).await
}

impl Ran {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}
