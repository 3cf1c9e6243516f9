//! `gpusim`: makes simulated GPU machines and changes them while programs look on.
//!
//! In: the command line and, for `run`, a script. Out: the state directory that `libnvidia-ml.so.1`
//! reads, fake device nodes and a fake driver root. Exit code 0: done; 1: not possible; 2: wrong usage.

// A command-line program prints.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod arguments;
mod event;
mod failure;
mod fault;
mod gpu;
mod init;
mod process;
mod script;
mod set;
mod show;
mod target;
mod units;

use std::process::ExitCode;

use clap::Parser;
use nvidia_ml::{State, Store, follow_device_nodes};

use arguments::{Arguments, Command};
use failure::Failure;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match (arguments.command, arguments.state) {
        (Command::Profiles, _) => init::list_profiles(),
        (_, None) => Err(Failure::NoStateDirectory),
        (command, Some(state)) => run(&Store::at(state), command),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("gpusim: {}", failure::with_causes(&failure));
            ExitCode::FAILURE
        }
    }
}

/// Runs one command on the machine in a state directory.
fn run(store: &Store, command: Command) -> Result<(), Failure> {
    match command {
        Command::Init(options) => init::init(store, &options),
        Command::Show(options) => show::show(store, options.output),
        Command::Run(options) => script::run(store, &options.script),
        change => {
            let done = store.update(|state| -> Result<String, Failure> {
                let done = apply(state, change)?;
                follow_device_nodes(state)?;
                Ok(done)
            })?;
            say(&done);
            Ok(())
        }
    }
}

/// Changes the state; tells what was done.
fn apply(state: &mut State, command: Command) -> Result<String, Failure> {
    match command {
        Command::Set(options) => set::set(state, &options),
        Command::Xid(options) => event::xid(state, &options),
        Command::Event(options) => event::event(state, &options),
        Command::Lose(options) => gpu::lose(state, &options.gpu),
        Command::Restore(options) => gpu::restore(state, &options.gpu),
        Command::Reset(options) => gpu::reset(state, &options.gpu),
        Command::Add(options) => gpu::add(state, options.gpu.as_deref()),
        Command::Remove(options) => gpu::remove(state, &options.gpu),
        Command::Hang(options) => fault::hang(state, &options),
        Command::Delay(options) => fault::delay(state, &options),
        Command::Fail(options) => fault::fail(state, &options),
        Command::Clear(options) => fault::clear(state, options.gpu.as_deref()),
        Command::Lock => Ok(fault::lock(state, true)),
        Command::Unlock => Ok(fault::lock(state, false)),
        Command::Driver(options) => Ok(fault::driver(state, options.init_code)),
        Command::Process(command) => process::process(state, command),
        Command::Init(_) | Command::Profiles | Command::Show(_) | Command::Run(_) => {
            Err(Failure::NotAChange)
        }
    }
}

/// Prints a line; every line says that nothing here is real.
fn say(text: &str) {
    for line in text.lines() {
        println!("simulated: {line}");
    }
}
