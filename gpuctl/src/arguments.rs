//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::output::Format;

const AFTER_HELP: &str = "\
Examples:
  gpuctl                             this node on one screen
  gpuctl list -o wide                every name of every GPU and MIG device
  gpuctl describe gpu 3              all about one GPU, by index, UUID, PCI address or serial number
  gpuctl pods                        which pod has which GPU
  gpuctl explain pod default/train   why a pod runs, waits or was refused
  gpuctl health || page-somebody     what is wrong, since when, what to do
  gpuctl xid explain 79              what an error number of the driver means
  gpuctl list -o json | jq -r '.gpus[].uuid'

Without an agent, status, list, describe, top, topo and health read NVML themselves; they then know
nothing about pods and the past, and say so on standard error.

Exit codes:
  0  asked and answered
  1  something is wrong (health, cdi validate), or what was named does not exist
  2  the command line is wrong
  3  only the agent could have told, and it does not answer (pods, explain, events)
  4  part of what is shown could not be read: a GPU or the driver did not answer

Nothing that gpuctl does changes anything.";

/// What GPUs this node has, how they are, who uses them, and why
#[derive(Debug, Parser)]
#[command(name = "gpuctl", version, after_help = AFTER_HELP, max_term_width = 100)]
#[command(disable_help_subcommand = true, infer_subcommands = false)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// What every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of all commands")]
pub(crate) struct Common {
    /// Form of the output
    #[arg(
        short,
        long,
        global = true,
        value_enum,
        default_value_t,
        hide_possible_values = true
    )]
    #[arg(value_name = "table|wide|json|yaml")]
    pub(crate) output: Format,
    /// The agent's socket
    #[arg(long, global = true, value_name = "PATH", env = "GPULET_SOCKET")]
    #[arg(default_value = "/run/gpulet/gpulet.sock")]
    pub(crate) socket: PathBuf,
    /// No colour, on a terminal either; so does NO_COLOR in the environment
    #[arg(long, global = true)]
    pub(crate) no_color: bool,
    /// This libnvidia-ml.so.1 and no other, when no agent answers
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) nvml_library: Option<PathBuf>,
    /// Root of the driver's files, such as /run/nvidia/driver, when no agent answers
    #[arg(long, global = true, value_name = "FOLDER", env = "NVIDIA_DRIVER_ROOT")]
    pub(crate) nvidia_driver_root: Option<PathBuf>,
}

/// What to show.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// This node on one screen: agent, driver, counts, problems, a line for each GPU (the default)
    Status,
    /// All GPUs and MIG devices with the names they go by
    List,
    /// Everything about one thing
    #[command(subcommand)]
    Describe(Describe),
    /// All pods, with the GPUs they hold and why they wait (needs the agent)
    Pods,
    /// How busy GPUs, pods and processes are; again every 2 seconds until Ctrl-C
    Top {
        /// Once, then end
        #[arg(long)]
        once: bool,
    },
    /// Why something is as it is (needs the agent)
    #[command(subcommand)]
    Explain(Explain),
    /// How the GPUs are wired: NVLink, PCIe, NUMA and CPUs
    Topo,
    /// What is wrong, since when, what to do, and how it clears; exit code 1 if anything is
    Health,
    /// The driver's error numbers
    #[command(subcommand)]
    Xid(Xid),
    /// What happened on this node, refusals and faults included (needs the agent)
    Events {
        /// Go on until Ctrl-C
        #[arg(short, long)]
        follow: bool,
    },
    /// CDI documents: what runtimes put into a container that gets a GPU
    #[command(subcommand)]
    Cdi(Cdi),
}

/// What to describe.
#[derive(Debug, Subcommand)]
pub(crate) enum Describe {
    /// One GPU: identity, health, figures, memory errors, MIG, holders, processes
    Gpu {
        /// Index, UUID or its beginning, PCI address, or serial number
        #[arg(value_name = "GPU")]
        gpu: String,
    },
}

/// What to explain.
#[derive(Debug, Subcommand)]
pub(crate) enum Explain {
    /// A pod: verdict, steps with their causes, containers, devices, last events
    Pod {
        /// Its name, with the namespace where names are ambiguous
        #[arg(value_name = "[NAMESPACE/]NAME")]
        pod: String,
    },
}

/// What to tell of XIDs.
#[derive(Debug, Subcommand)]
pub(crate) enum Xid {
    /// One error number: meaning, how far it reaches, what to do, what the agent makes of it
    Explain {
        /// The number, as in "NVRM: Xid (PCI:0000:3b:00): 79"
        #[arg(value_name = "CODE")]
        code: u32,
    },
    /// All error numbers of the catalogue
    List,
}

/// What to do with CDI documents.
#[derive(Debug, Subcommand)]
pub(crate) enum Cdi {
    /// Documents, their devices, and what a container gets with them
    Show(CdiFolders),
    /// Check documents, and that what they name exists on this machine; exit code 1 if not
    Validate(CdiFolders),
}

/// Where CDI documents lie.
#[derive(Debug, Args)]
pub(crate) struct CdiFolders {
    /// A folder with CDI documents, may be repeated [default: /etc/cdi and /var/run/cdi]
    #[arg(long = "cdi-dir", value_name = "FOLDER")]
    pub(crate) folders: Vec<PathBuf>,
}
