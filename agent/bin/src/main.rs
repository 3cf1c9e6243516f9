//! The program `gpulet`: parses, wires, runs and drains. It holds no loop and decides nothing.
//!
//! Two hidden first arguments make it something else: the child process that hosts NVML, and the CDI
//! hook that runs beside a container. Both are this executable so that one file is the whole agent.

mod cluster;
mod devices;
mod flags;
mod notices;
mod run;
mod serve;
mod settings;
mod validate;
mod version;

use std::process::ExitCode;

use base_daemon::{Chain, LogFormat, start_logging};

/// First argument of the child that hosts NVML.
const PROBE: &str = "nvml-probe";
/// First argument of the CDI hook.
const HOOK: &str = "cdi-hook";

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next().as_deref().and_then(|first| first.to_str()) {
        Some(PROBE) => gpu_probe::child_main(),
        Some(HOOK) => cdi_hook(
            &arguments
                .filter_map(|each| each.into_string().ok())
                .collect::<Vec<_>>(),
        ),
        _ => agent(&flags::parse()),
    }
}

/// Runs beside a container that is being created; the runtime shows its messages when it fails.
fn cdi_hook(arguments: &[String]) -> ExitCode {
    match gpu_cdi::run_hook(
        arguments,
        std::io::stdin().lock(),
        &mut std::io::stderr().lock(),
    ) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            start_logging(LogFormat::Text, 0);
            tracing::error!("CDI hook: {}", Chain(&error));
            ExitCode::FAILURE
        }
    }
}

fn agent(flags: &flags::Flags) -> ExitCode {
    if flags.validate {
        return validate::validate(flags);
    }
    let outcome = settings::load(flags).and_then(|settings| {
        let format = match settings.configuration.logs.logging.format.as_str() {
            "json" => LogFormat::Json,
            _ => LogFormat::Text,
        };
        start_logging(format, settings.verbosity);
        run::run(settings)
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Logging may not have started yet: the reason must be seen all the same.
            start_logging(LogFormat::Text, 0);
            tracing::error!("gpulet cannot run: {}", Chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}
