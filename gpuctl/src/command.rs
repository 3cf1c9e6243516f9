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
struct Session {
    source: Source,
    output: Output,
}

/// Runs one command.
pub(crate) async fn run(arguments: Arguments) -> Exit {
    let common = arguments.common;
    let session = Session {
        source: Source::new(
            common.socket,
            common.nvml_library,
            common.nvidia_driver_root,
        ),
        output: Output::new(common.output, common.no_color),
    };
    let done = match arguments.command.unwrap_or(Command::Status) {
        Command::Status => status::run(&session).await,
        Command::List => list::run(&session).await,
        Command::Describe(Describe::Gpu { gpu }) => describe::run(&session, &gpu).await,
        Command::Pods => pods::run(&session).await,
        Command::Top { once } => top::run(&session, once).await,
        Command::Explain(Explain::Pod { pod }) => explain::run(&session, &pod).await,
        Command::Topo => topo::run(&session).await,
        Command::Health => health::run(&session).await,
        Command::Xid(Xid::Explain { code }) => xid::explain(&session, code),
        Command::Xid(Xid::List) => xid::list(&session),
        Command::Events { follow } => events::run(&session, follow).await,
        Command::Cdi(Cdi::Show(folders)) => cdi::show(&session, &folders),
        Command::Cdi(Cdi::Validate(folders)) => cdi::validate(&session, &folders),
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
