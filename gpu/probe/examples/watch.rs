//! Prints what a probe reports, one JSON document a line, until it is killed:
//! `watch [LIBRARY]`

#![allow(clippy::print_stdout)] // That is what it is for.

use std::path::PathBuf;
use std::process::ExitCode;

use gpu_probe::ProbeSettings;

const CHILD: &str = "nvml-probe";

fn main() -> ExitCode {
    let argument = std::env::args_os().nth(1);
    if argument.as_ref().is_some_and(|argument| argument == CHILD) {
        return gpu_probe::child_main();
    }
    base_daemon::start_logging(base_daemon::LogFormat::Text, 0);
    let settings = ProbeSettings {
        library: argument.map(PathBuf::from),
        ..ProbeSettings::for_this_program(CHILD)
    };
    match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime.block_on(watch(settings)),
        Err(_) => ExitCode::FAILURE,
    }
}

async fn watch(settings: ProbeSettings) -> ExitCode {
    let (_probe, mut reports) = gpu_probe::start(settings);
    while let Some(report) = reports.recv().await {
        println!("{}", serde_json::to_string(&report).unwrap_or_default());
    }
    ExitCode::SUCCESS
}
