//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::units;

const AFTER_HELP: &str = "\
GPUs are named by their minor number (the N of /dev/nvidiaN), UUID or PCI address; `all` is every one.
A program sees the machine when it runs with GPUSIM_STATE=<dir> and the simulated libnvidia-ml.so.1
first on its library path. It sees every change at once, without a restart.

Examples:
  gpusim --state /tmp/m init --profile h200x8      make a machine with eight H200
  gpusim --state /tmp/m xid 3 79                   GPU 3 reports XID 79 (fallen off the bus)
  gpusim --state /tmp/m lose 3                     and from now on answers \"GPU is lost\"
  gpusim --state /tmp/m hang '*' --gpu 5 --for 30s every call on GPU 5 hangs for 30 seconds
  gpusim --state /tmp/m set 0 ecc.volatile.dram_uncorrected 3
  gpusim --state /tmp/m set all name '\\xff\\xfe'    a driver gone mad
  gpusim --state /tmp/m show -o json               all values, by the paths that `set` takes

Exit codes: 0 done, 1 not possible (the text says why), 2 wrong usage.";

/// Makes simulated GPU machines and changes them while programs look on. Nothing it shows is real.
#[derive(Debug, Parser)]
#[command(name = "gpusim", version, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// Directory of the simulated machine.
    #[arg(long, env = nvidia_ml::STATE_VARIABLE, global = true, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a machine from a profile, in place of one that may be there.
    Init(Init),
    /// List the profiles and where their values come from.
    Profiles,
    /// Show the machine.
    Show(Show),
    /// Set any value of a GPU or of the node.
    Set(Set),
    /// Raise an XID event.
    Xid(Xid),
    /// Raise any other event.
    Event(Event),
    /// Let a GPU fall off the bus: every call on it answers code 15.
    Lose(OneGpu),
    /// Bring a lost GPU back as it was.
    Restore(OneGpu),
    /// Reset a GPU: back on the bus, volatile counts 0, pending modes in effect, MIG instances gone.
    Reset(OneGpu),
    /// Plug a removed GPU in again.
    Add(MaybeGpu),
    /// Unplug a GPU: it is no longer counted and its device node goes away.
    Remove(OneGpu),
    /// Let calls hang until `clear`, or for a time.
    Hang(Hang),
    /// Let calls take longer.
    Delay(Delay),
    /// Let calls fail with a code.
    Fail(Fail),
    /// Take back hang, delay, fail and lock; on one GPU only, if one is named.
    Clear(MaybeGpuFlag),
    /// Hold the library's own lock: every call of every process waits.
    Lock,
    /// Let the library's own lock go.
    Unlock,
    /// Say what the driver answers to nvmlInit.
    Driver(Driver),
    /// Let processes appear on a GPU or go.
    #[command(subcommand)]
    Process(ProcessCommand),
    /// Run a script: one command a line, `at 2s <command>` waits until 2 s after the start.
    Run(Run),
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Kind of machine, see `gpusim profiles`.
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: String,
    /// Another seed gives other UUIDs and serial numbers.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Make fake device nodes in DIR/dev; they follow the state.
    #[arg(long, value_name = "DIR")]
    pub(crate) dev_root: Option<PathBuf>,
    /// Make a fake driver installation in DIR.
    #[arg(long, value_name = "DIR")]
    pub(crate) driver_root: Option<PathBuf>,
    /// The simulated library for the driver root [default: ../lib/libnvidia-ml.so.1 beside gpusim].
    #[arg(long, value_name = "FILE")]
    pub(crate) library: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Form of the output.
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    pub(crate) output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// A few lines for people.
    Table,
    /// Everything.
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct Set {
    /// A GPU, `all`, or `node`.
    pub(crate) gpu: String,
    /// Path of the value as in `show -o json`, for instance temperature.gpu or nvlinks.3.active.
    pub(crate) path: String,
    /// New value; sizes may have units (40GiB), text may have \xNN bytes.
    #[arg(allow_hyphen_values = true)]
    pub(crate) value: String,
}

#[derive(Debug, Args)]
pub(crate) struct OneGpu {
    /// The GPU, or `all`.
    pub(crate) gpu: String,
}

#[derive(Debug, Args)]
pub(crate) struct MaybeGpu {
    /// The GPU; the first removed one when not given.
    pub(crate) gpu: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct MaybeGpuFlag {
    /// Only what lies on this GPU.
    #[arg(long)]
    pub(crate) gpu: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Place {
    /// GPU instance that the event concerns.
    #[arg(long, value_name = "N")]
    pub(crate) gi: Option<u32>,
    /// Compute instance that the event concerns.
    #[arg(long, value_name = "N", requires = "gi")]
    pub(crate) ci: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct Xid {
    /// The GPU, or `all`.
    pub(crate) gpu: String,
    /// XID code, for instance 79.
    pub(crate) code: u64,
    #[command(flatten)]
    pub(crate) place: Place,
}

#[derive(Debug, Args)]
pub(crate) struct Event {
    /// The GPU, or `all`.
    pub(crate) gpu: String,
    /// Event type.
    #[arg(value_enum)]
    pub(crate) kind: EventKind,
    /// Event data.
    #[arg(long, default_value_t = 0)]
    pub(crate) data: u64,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// Event types of NVML, without XID.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum EventKind {
    SingleBitEcc,
    DoubleBitEcc,
    PerformanceState,
    Clock,
    PowerSource,
    MigConfig,
    SingleBitEccStorm,
    DramRetirement,
    DramRetirementFailure,
    NonFatalPoison,
    FatalPoison,
    GpuUnavailable,
    RecoveryAction,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Where {
    /// Calls on this GPU (or `all`).
    #[arg(long)]
    pub(crate) gpu: Option<String>,
    /// All calls by the name, also those without a GPU.
    #[arg(long)]
    pub(crate) node: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Hang {
    /// Name of an NVML function, or '*'. A name without _vN stands for its versions too.
    pub(crate) call: String,
    #[command(flatten)]
    pub(crate) place: Where,
    /// End by itself after this time (200ms, 10s, 2m).
    #[arg(long = "for", value_name = "TIME", value_parser = units::duration)]
    pub(crate) time: Option<std::time::Duration>,
}

#[derive(Debug, Args)]
pub(crate) struct Delay {
    /// Name of an NVML function, or '*'.
    pub(crate) call: String,
    #[command(flatten)]
    pub(crate) place: Where,
    /// How much longer each call takes (200ms, 10s, 2m).
    #[arg(value_parser = units::duration)]
    pub(crate) time: std::time::Duration,
}

#[derive(Debug, Args)]
pub(crate) struct Fail {
    /// Name of an NVML function, or '*'.
    pub(crate) call: String,
    #[command(flatten)]
    pub(crate) place: Where,
    /// NVML return code, for instance 15 (GPU is lost) or 999 (unknown).
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) code: u32,
    /// Only so many times.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) times: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct Driver {
    /// 0 loaded, 9 not loaded, 18 version mismatch, or any other NVML return code.
    #[arg(long)]
    pub(crate) init_code: u32,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProcessCommand {
    /// A process appears on a GPU.
    Add(ProcessAdd),
    /// A process goes.
    Remove(ProcessRemove),
}

#[derive(Debug, Args)]
pub(crate) struct ProcessAdd {
    /// The GPU.
    pub(crate) gpu: String,
    /// Process id.
    #[arg(long)]
    pub(crate) pid: u32,
    /// Device memory it takes, for instance 2GiB.
    #[arg(long, default_value = "0", value_parser = units::size)]
    pub(crate) memory: u64,
    /// Kind of work.
    #[arg(long, value_enum, default_value_t = Kind::Compute)]
    pub(crate) kind: Kind,
    #[command(flatten)]
    pub(crate) place: Place,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Kind {
    Compute,
    Graphics,
    Mps,
}

#[derive(Debug, Args)]
pub(crate) struct ProcessRemove {
    /// The GPU, or `all`.
    pub(crate) gpu: String,
    /// Process id.
    pub(crate) pid: u32,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The script, or - for standard input.
    pub(crate) script: PathBuf,
}

#[cfg(test)]
mod tests;
