//! A simulated machine and a probe that looks at it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use gpu_model::{DriverState, GpuUuid, MachineFacts, ProbeReport, Reading};
use gpu_probe::{Probe, ProbeSettings};
use tempfile::TempDir;
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;

/// Longest wait for something that must happen: the longest deadlines of the probe and a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Programs of this workspace that the tests run.
pub(crate) struct Built {
    pub(crate) library: PathBuf,
    gpusim: PathBuf,
    /// The example that hosts the child.
    pub(crate) watch: PathBuf,
}

pub(crate) static BUILT: LazyLock<Built> = LazyLock::new(|| {
    // .../debug/deps/simulator-0123456789abcdef
    let this = std::env::current_exe().unwrap();
    let profile = this.parent().and_then(Path::parent).unwrap();
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
        watch: profile.join("examples/watch"),
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
        fs::create_dir(machine.path("dev")).unwrap();
        machine.gpusim(&["init", "--profile", profile]);
        machine
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Changes it.
    pub(crate) fn gpusim(&self, arguments: &[&str]) {
        let state = self.path("state");
        let mut command = Command::new(&BUILT.gpusim);
        let output = command
            .arg("--state")
            .arg(state)
            .args(arguments)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "gpusim {arguments:?}: {error}");
    }

    /// The variable that the library reads, set for one program.
    pub(crate) fn environment(&self) -> OsString {
        let mut variable = OsString::from("GPUSIM_STATE=");
        variable.push(self.path("state"));
        variable
    }

    pub(crate) fn settings(&self) -> ProbeSettings {
        let env = OsString::from("/usr/bin/env");
        let watch = BUILT.watch.clone().into_os_string();
        ProbeSettings {
            library: Some(BUILT.library.clone()),
            search: Vec::new(),
            child: vec![env, self.environment(), watch, OsString::from("nvml-probe")],
            // Nothing of the machine that the test runs on.
            sysfs: self.path("sys"),
            dev: self.path("dev"),
        }
    }

    /// Process ids of the children that look at this machine.
    pub(crate) fn children(&self) -> Vec<i32> {
        let ours = self.environment();
        let is_ours = |pid: &i32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            let wanted = ours.as_encoded_bytes();
            name.trim() == "nvml-probe"
                && environment.split(|byte| *byte == 0).any(|it| it == wanted)
        };
        let processes = fs::read_dir("/proc").unwrap().flatten();
        processes
            .filter_map(|it| it.file_name().to_str()?.parse().ok())
            .filter(is_ours)
            .collect()
    }
}

/// A probe and what it has reported.
pub(crate) struct Watched {
    pub(crate) probe: Probe,
    reports: Receiver<ProbeReport>,
    /// All reports, oldest first.
    pub(crate) seen: Vec<ProbeReport>,
}

impl Watched {
    pub(crate) fn start(settings: ProbeSettings) -> Self {
        let (probe, reports) = gpu_probe::start(settings);
        Self {
            probe,
            reports,
            seen: Vec::new(),
        }
    }

    /// Started, and all GPUs read.
    pub(crate) async fn ready(machine: &Machine) -> (Self, MachineFacts) {
        let mut watched = Self::start(machine.settings());
        let facts = watched.machine().await;
        // They come in any order.
        let mut waiting: BTreeSet<_> = facts.gpus.iter().map(|gpu| gpu.uuid.clone()).collect();
        while !waiting.is_empty() {
            let reading = |report: &ProbeReport| match report {
                ProbeReport::Reading(gpu, _) => Some(gpu.clone()),
                _ => None,
            };
            waiting.remove(&watched.until("reading", reading).await);
        }
        (watched, facts)
    }

    /// The next report that fits, in order after those already taken.
    pub(crate) async fn until<T>(
        &mut self,
        what: &str,
        fits: impl Fn(&ProbeReport) -> Option<T>,
    ) -> T {
        loop {
            let report = timeout(PATIENCE, self.reports.recv()).await;
            let Ok(Some(report)) = report else {
                unreachable!("no {what} within {PATIENCE:?}; seen: {:#?}", self.briefly());
            };
            let fitting = fits(&report);
            self.seen.push(report);
            if let Some(fitting) = fitting {
                return fitting;
            }
        }
    }

    pub(crate) async fn machine(&mut self) -> MachineFacts {
        let fits = |report: &ProbeReport| match report {
            ProbeReport::Machine(machine) => Some((**machine).clone()),
            _ => None,
        };
        self.until("machine", fits).await
    }

    pub(crate) async fn reading(&mut self, gpu: &GpuUuid) -> Reading {
        let fits = |report: &ProbeReport| match report {
            ProbeReport::Reading(it, reading) if it == gpu => Some((**reading).clone()),
            _ => None,
        };
        self.until("reading", fits).await
    }

    pub(crate) async fn driver(&mut self, wanted: impl Fn(&DriverState) -> bool) -> DriverState {
        let fits = |report: &ProbeReport| match report {
            ProbeReport::Driver(state) if wanted(state) => Some(state.clone()),
            _ => None,
        };
        self.until("state of the driver", fits).await
    }

    /// States of the driver, in the order they were reported.
    pub(crate) fn states(&self) -> Vec<&DriverState> {
        let mut states = Vec::new();
        for report in &self.seen {
            if let ProbeReport::Driver(state) = report {
                states.push(state);
            }
        }
        states
    }

    fn briefly(&self) -> Vec<String> {
        self.seen
            .iter()
            .map(|it| format!("{it:?}").chars().take(200).collect())
            .collect()
    }
}
