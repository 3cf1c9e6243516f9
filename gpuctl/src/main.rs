//! `gpuctl`: what GPUs this node has, how they are, who uses them, and why.
//!
//! In: the agent's read-only API on its Unix socket; without an agent, NVML through a child process; CDI
//! documents on disk. Out: tables, JSON or YAML on standard output, at most one line beside them on
//! standard error, and an exit code ([`exit::Exit`]).
//!
//! Nothing here changes anything, and nothing here decides: verdicts on GPUs are those of `gpu-model`,
//! checks of CDI documents those of `gpu-cdi`. A command asks ([`source`]), gets records ([`record`])
//! and has them drawn ([`view`]); who told a fact makes no difference to how it looks.

mod arguments;
mod command;
mod exit;
#[cfg(test)]
#[path = "../tests/cli/fixtures.rs"]
mod fixtures;
mod output;
mod record;
mod source;
mod view;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::Arguments;
use crate::exit::Exit;
use crate::output::note;

fn main() -> ExitCode {
    let first = std::env::args_os().nth(1);
    if first.is_some_and(|argument| argument == source::PROBE_ARGUMENT) {
        return gpu_probe::child_main();
    }
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(command::run(arguments)).into(),
        Err(error) => {
            note(&format!("cannot start: {error}"));
            Exit::Problem.into()
        }
    }
}
