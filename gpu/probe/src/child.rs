//! The child: the only process that calls NVML.
//!
//! The thread that reads requests makes no NVML call, so it always answers a ping. Calls are made in
//! lanes, one thread each; events are waited for in one thread for each GPU. The child never ends by
//! itself in an orderly way: when the parent is gone, or wants it, it is killed, since a thread that
//! hangs in the driver would hold up any other end.

mod answer;
mod lanes;
mod outbox;
mod watchers;

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::thread;

use gpu_model::DriverState;
use gpu_nvml::{Library, Places};
use rustix::process::{Signal, getpid, kill_process, set_parent_process_death_signal};
use rustix::thread::set_name;

use crate::wire::{self, FromChild, ToChild};
use answer::Access;
use lanes::Lanes;
use outbox::Outbox;
use watchers::Watchers;

/// The whole life of the child. Call it before anything else in `main`, when the program was started
/// with the arguments of [`crate::ProbeSettings::child`]: it needs no runtime and no logging. It returns
/// only when it was not started by a probe.
#[must_use]
pub fn child_main() -> ExitCode {
    match serve() {
        Ok(never) => match never {},
        Err(error) => {
            complain(&format!(
                "gpulet starts this by itself, it is of no use by hand: {error}"
            ));
            ExitCode::from(2)
        }
    }
}

fn serve() -> io::Result<std::convert::Infallible> {
    // Seen by `ps`; the file that was started is called `exe`.
    set_name(c"nvml-probe")?;
    // If this process is frozen when the parent dies, it would never read the end of the stream.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let mut socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    // Fails when standard input is something else.
    socket.peer_addr()?;
    let outbox = Outbox::start(socket.try_clone()?)?;
    let ToChild::Open {
        file,
        folders,
        sysfs,
    } = wire::read(&mut socket)?
    else {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "another program answers",
        ));
    };
    let access = Arc::new(Access {
        library: OnceLock::new(),
        sysfs,
    });
    open(
        Arc::clone(&access),
        Places { file, folders },
        outbox.clone(),
    );
    let mut lanes = Lanes::new(Arc::clone(&access), outbox.clone());
    let mut watchers = Watchers::new(access, outbox.clone());
    loop {
        match wire::read(&mut socket) {
            Ok(ToChild::Ping) => outbox.send(FromChild::Pong(lanes.busy())),
            Ok(ToChild::Ask {
                id,
                fresh,
                question,
            }) => lanes.ask(id, fresh, question),
            Ok(ToChild::Watch { index, gpu }) => watchers.start(index, gpu),
            Ok(ToChild::Unwatch(gpu)) => watchers.stop(&gpu),
            Ok(ToChild::Open { .. }) => {}
            Err(_) => die(),
        }
    }
}

/// Loads the library in a thread of its own: that may hang, too.
fn open(access: Arc<Access>, places: Places, outbox: Outbox) {
    run("nvml-open", move || match Library::open(&places) {
        Ok(library) => {
            // Set once, here.
            let _ = access.library.set(library);
            outbox.send(FromChild::Opened(DriverState::Ready));
        }
        Err(error) => outbox.send(FromChild::Opened(error.into())),
    });
}

/// Starts a thread. Without it the child is of no use, and the parent starts another one.
fn run(name: &str, body: impl FnOnce() + Send + 'static) {
    if let Err(error) = thread::Builder::new().name(name.to_owned()).spawn(body) {
        complain(&format!("cannot start a thread: {error}"));
        die();
    }
}

/// Ends this process, whatever its threads hang in: an orderly exit would run the library's own
/// clean-up, which may need a lock that one of them holds.
fn die() -> ! {
    let _ = kill_process(getpid(), Signal::KILL);
    std::process::abort()
}

/// One line for the parent's log.
#[allow(clippy::print_stderr)] // The child's log is its standard error, which the parent relays.
fn complain(line: &str) {
    eprintln!("{line}");
}
