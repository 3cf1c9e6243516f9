//! NVIDIA's own Python client over the simulated library: GPUs, memory, processes, MIG devices and events.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use e2e::{Bed, Gpus};

const SCRIPT: &str = include_str!("pynvml/check.py");

pub(super) async fn run() -> Result<()> {
    let bed = Bed::find()?;
    if !bed.python().join("pynvml.py").exists() {
        return Err(crate::Skip("no pynvml in the cache: run `make setup`".to_owned()).into());
    }
    let state = tempfile::tempdir()?;
    let gpus = Gpus::make(&bed, state.path(), "h200x8")?;
    let mut python = Command::new("python3");
    python
        .args(["-c", SCRIPT])
        .arg(bed.simulator()?.join("bin/gpusim"))
        .arg(state.path());
    python.env("PYTHONPATH", bed.python()).stdin(Stdio::null());
    gpus.environment(&mut python);
    let output = tokio::task::spawn_blocking(move || python.output()).await?;
    let output = output.context("starting python3")?;
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{said}{errors}");
    ensure!(said.ends_with("pynvml is content\n"), "{said}{errors}");
    Ok(())
}
