//! A node's simulated GPUs: the state that all its processes share, and `gpusim` to change it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::bed::Bed;

/// The simulator's state of one node.
#[derive(Debug)]
pub struct Gpus {
    simulator: PathBuf,
    state: PathBuf,
    /// The library that the agent is given; a scenario may name another place.
    pub library: PathBuf,
}

impl Gpus {
    /// Makes a simulated machine by the profile's name, with its state in the folder `state`.
    pub fn make(bed: &Bed, state: &Path, profile: &str) -> Result<Gpus> {
        let simulator = bed.simulator()?;
        let library = simulator.join("lib/libnvidia-ml.so.1");
        let gpus = Gpus {
            simulator,
            state: state.to_owned(),
            library,
        };
        let (devices, driver) = (gpus.dev_root(), gpus.driver_root());
        let (devices, driver) = (devices.to_string_lossy(), driver.to_string_lossy());
        gpus.gpusim(&[
            "init",
            "--profile",
            profile,
            "--dev-root",
            &devices,
            "--driver-root",
            &driver,
        ])?;
        Ok(gpus)
    }

    /// Runs `gpusim --state DIR` with these arguments.
    pub fn gpusim(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(self.simulator.join("bin/gpusim"));
        command.arg("--state").arg(&self.state).args(arguments);
        let output = command.output().context("starting gpusim")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "gpusim {arguments:?}: {}",
            said.trim()
        );
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Lets something appear and go among the device nodes, which makes the agent look at its GPUs now; without it
    /// a look comes every minute.
    pub fn sign(&self) -> Result<()> {
        let file = self.dev_root().join("dev/nvidia-sign");
        std::fs::write(&file, "")?;
        Ok(std::fs::remove_file(file)?)
    }

    /// The state folder.
    pub fn state(&self) -> &Path {
        &self.state
    }

    fn dev_root(&self) -> PathBuf {
        self.state.join("devices")
    }

    fn driver_root(&self) -> PathBuf {
        self.state.join("driver")
    }

    /// Points a program that looks for NVML by itself at the simulator.
    pub fn environment(&self, command: &mut Command) {
        command.env("GPUSIM_STATE", &self.state);
        command.env("LD_LIBRARY_PATH", self.simulator.join("lib"));
    }

    /// Points gpulet at the simulator: library, driver root and device nodes.
    pub(crate) fn attach(&self, command: &mut Command) {
        command
            .env("GPUSIM_STATE", &self.state)
            .arg("--nvml-library")
            .arg(&self.library);
        command.arg("--nvidia-driver-root").arg(self.driver_root());
        command.arg("--nvidia-dev-root").arg(self.dev_root());
    }
}
