//! The command line. Help is written for 80 columns: nothing wraps it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::output::Format;

const AFTER_HELP: &str = "\
Examples:
  gpuctl                            this node on one screen
  gpuctl list -o wide               every name of every GPU and MIG device
  gpuctl describe gpu 3             by index, UUID, PCI address or serial number
  gpuctl pods                       which pod has which GPU, and who waits
  gpuctl explain pod default/train  why a pod runs, waits or was refused
  gpuctl health || page-somebody    what is wrong, since when, what to do
  gpuctl xid explain 79             what an error number of the driver means
  gpuctl list -o json | jq -r '.gpus[].uuid'

Without an agent, status, list, describe, top, topo and health read NVML
themselves; they know nothing about pods and the past then, and say so on
standard error. Nothing that gpuctl does changes anything.

Exit codes:
  0  asked and answered
  1  something is wrong (health, cdi validate), or there is no such GPU or pod
  2  the command line is wrong
  3  only the agent could have told, and it does not answer
  4  part of what is shown could not be read";

/// What GPUs this node has, how they are, who uses them, and why
#[derive(Debug, Parser)]
#[command(name = "gpuctl", version, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// What every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of all commands")]
pub(crate) struct Shared {
    /// Form of the output; wide leaves no column out [default: table]
    #[arg(
        short,
        long,
        global = true,
        value_enum,
        default_value_t,
        hide_default_value = true
    )]
    #[arg(
        value_name = "table|wide|json|yaml",
        hide_possible_values = true,
        next_line_help = true
    )]
    pub(crate) output: Format,
    /// The agent's [env: GPULET_SOCKET] [default: /run/gpulet/gpulet.sock]
    #[arg(
        long,
        global = true,
        value_name = "PATH",
        env = "GPULET_SOCKET",
        hide_env = true
    )]
    #[arg(default_value = "/run/gpulet/gpulet.sock", hide_default_value = true)]
    #[arg(next_line_help = true)]
    pub(crate) socket: PathBuf,
    /// No colour, not on a terminal either [env: NO_COLOR]
    #[arg(long, global = true, next_line_help = true)]
    pub(crate) no_color: bool,
    /// Without an agent: this libnvidia-ml.so.1 and no other
    #[arg(long, global = true, value_name = "FILE", next_line_help = true)]
    pub(crate) nvml_library: Option<PathBuf>,
    /// Without an agent: root of the driver's files [env: NVIDIA_DRIVER_ROOT]
    #[arg(long, global = true, value_name = "FOLDER", next_line_help = true)]
    #[arg(env = "NVIDIA_DRIVER_ROOT", hide_env = true)]
    pub(crate) nvidia_driver_root: Option<PathBuf>,
}

/// What to show.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// This node on one screen: agent, driver, problems, GPUs (the default)
    Status,
    /// All GPUs and MIG devices with the names they go by
    List,
    /// Everything about one GPU
    #[command(subcommand)]
    Describe(Describe),
    /// All pods: GPUs they hold, why they wait (needs the agent)
    Pods,
    /// How busy GPUs, pods and processes are, every 2 s until Ctrl-C
    Top {
        /// Once, then end
        #[arg(long)]
        once: bool,
    },
    /// Why a pod is where it is (needs the agent)
    #[command(subcommand)]
    Explain(Explain),
    /// How the GPUs are wired: NVLink, PCIe, NUMA and CPUs
    Topo,
    /// What is wrong, since when, what to do, and how it clears
    Health,
    /// The driver's error numbers
    #[command(subcommand)]
    Xid(Xid),
    /// What happened, refusals and faults included (needs the agent)
    Events {
        /// Go on until Ctrl-C
        #[arg(short, long)]
        follow: bool,
    },
    /// CDI documents: what a container gets with a GPU
    #[command(subcommand)]
    Cdi(Cdi),
}

/// What to describe.
#[derive(Debug, Subcommand)]
pub(crate) enum Describe {
    /// Identity, health, figures, memory errors, MIG, holders, processes
    Gpu {
        /// Index, UUID or its beginning, PCI address, or serial number
        #[arg(value_name = "GPU")]
        gpu: String,
    },
}

/// What to explain.
#[derive(Debug, Subcommand)]
pub(crate) enum Explain {
    /// Verdict, steps with their causes, containers, devices, last events
    Pod {
        /// Its name; the namespace only where names are ambiguous
        #[arg(value_name = "[NAMESPACE/]NAME")]
        pod: String,
    },
}

/// What to tell of XIDs.
#[derive(Debug, Subcommand)]
pub(crate) enum Xid {
    /// What one means, what to do, what the agent makes of it
    Explain {
        /// As in "NVRM: Xid (PCI:0000:3b:00): 79"
        #[arg(value_name = "CODE")]
        code: u32,
    },
    /// The whole catalogue
    List,
}

/// What to do with CDI documents.
#[derive(Debug, Subcommand)]
pub(crate) enum Cdi {
    /// Documents, their devices, and what a container gets with them
    Show(CdiFolders),
    /// Whether documents are right and what they name exists here
    Validate(CdiFolders),
}

/// Where CDI documents lie.
#[derive(Debug, Args)]
pub(crate) struct CdiFolders {
    /// A folder; may be repeated [default: /etc/cdi and /var/run/cdi]
    #[arg(long = "cdi-dir", value_name = "FOLDER", next_line_help = true)]
    pub(crate) folders: Vec<PathBuf>,
}
