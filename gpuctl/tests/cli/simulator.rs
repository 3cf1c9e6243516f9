//! A simulated machine.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use tempfile::TempDir;

use crate::program::{Ran, finish, gpuctl};

/// The simulator, built into the folder where this test lies.
struct Built {
    library: PathBuf,
    gpusim: PathBuf,
}

static BUILT: LazyLock<Built> = LazyLock::new(|| {
    let profile = Path::new(env!("CARGO_BIN_EXE_gpuctl")).parent().unwrap();
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--package", "gpu-sim", "--target-dir"]);
    build.arg(profile.parent().unwrap());
    if profile.file_name().unwrap() == "release" {
        build.arg("--release");
    }
    assert!(
        build.status().unwrap().success(),
        "the simulator does not build"
    );
    Built {
        library: profile.join("libnvidia_ml.so"),
        gpusim: profile.join("gpusim"),
    }
});

/// A simulated machine.
pub(crate) struct Machine {
    dir: TempDir,
}

impl Machine {
    pub(crate) fn new(profile: &str) -> Self {
        let machine = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        machine.gpusim(&["init", "--profile", profile]);
        machine
    }

    fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    /// Changes it.
    pub(crate) fn gpusim(&self, arguments: &[&str]) {
        let mut command = Command::new(&BUILT.gpusim);
        let output = command
            .arg("--state")
            .arg(self.state())
            .args(arguments)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "gpusim {arguments:?}: {error}");
    }

    /// The program on this machine, where no agent runs.
    pub(crate) fn gpuctl(&self) -> tokio::process::Command {
        let mut command = gpuctl(&self.dir.path().join("gpulet.sock"));
        command
            .env("GPUSIM_STATE", self.state())
            .arg("--nvml-library")
            .arg(&BUILT.library);
        command
    }

    pub(crate) async fn run(&self, arguments: &[&str]) -> Ran {
        finish(self.gpuctl().args(arguments)).await
    }

    /// A driver root with the library in it, as a driver container has one.
    pub(crate) fn driver_root(&self) -> PathBuf {
        let root = self.dir.path().join("root");
        let folder = root.join("usr/lib/x86_64-linux-gnu");
        std::fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink(&BUILT.library, folder.join("libnvidia-ml.so.1")).unwrap();
        root
    }

    /// Processes that still look at this machine.
    pub(crate) fn lookers(&self) -> Vec<PathBuf> {
        let state = self.state().into_os_string().into_encoded_bytes();
        let ours = [b"GPUSIM_STATE=", state.as_slice()].concat();
        let processes = std::fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .map(|entry| entry.path());
        let is_ours = |process: &PathBuf| {
            let environment = std::fs::read(process.join("environ")).unwrap_or_default();
            environment
                .split(|byte| *byte == 0)
                .any(|variable| variable == ours)
        };
        processes.filter(is_ours).collect()
    }

    /// An environment in which this machine's library is named by nothing.
    pub(crate) fn without_library(&self) -> tokio::process::Command {
        let mut command = gpuctl(&self.dir.path().join("gpulet.sock"));
        command.env("GPUSIM_STATE", self.state());
        command
    }
}
