//! The commands, one file each: ask, choose the exit code, have it drawn.

mod cdi;
mod describe;
mod events;
mod explain;
mod health;
mod list;
mod pods;
mod status;
mod top;
mod topo;
mod xid;

use crate::arguments::{Arguments, Cdi, Command, Describe, Explain, Xid};
use crate::exit::{CommandError, Exit};
use crate::output::Output;
use crate::record::Machine;
use crate::source::Source;

/// What every command works with.
#[derive(Debug)]
struct Context {
    source: Source,
    output: Output,
}

/// Runs one command.
pub(crate) async fn run(arguments: Arguments) -> Exit {
    let shared = arguments.shared;
    let context = Context {
        source: Source::new(
            shared.socket,
            shared.nvml_library,
            shared.nvidia_driver_root,
        ),
        output: Output::new(shared.output, shared.no_color),
    };
    let done = match arguments.command.unwrap_or(Command::Status) {
        Command::Status => status::run(&context).await,
        Command::List => list::run(&context).await,
        Command::Describe(Describe::Gpu { gpu }) => describe::run(&context, &gpu).await,
        Command::Pods => pods::run(&context).await,
        Command::Top { once } => top::run(&context, once).await,
        Command::Explain(Explain::Pod { pod }) => explain::run(&context, &pod).await,
        Command::Topo => topo::run(&context).await,
        Command::Health => health::run(&context).await,
        Command::Xid(Xid::Explain { code }) => xid::explain(&context, code),
        Command::Xid(Xid::List) => xid::list(&context),
        Command::Events { follow } => events::run(&context, follow).await,
        Command::Cdi(Cdi::Show(folders)) => cdi::show(&context, &folders),
        Command::Cdi(Cdi::Validate(folders)) => cdi::validate(&context, &folders),
    };
    done.unwrap_or_else(|error| error.report())
}

/// Fine, unless something that was asked for could not be read.
fn completeness(machine: &Machine) -> Exit {
    if machine.is_partial() {
        Exit::Partial
    } else {
        Exit::Fine
    }
}

type Done = Result<Exit, CommandError>;
