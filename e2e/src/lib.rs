//! The test bed: nodes with real containerd, real runc and real networking, each in names and folders of its own, and
//! the agent under test on them.
//!
//! In: what `make setup` unpacked and what cargo built. Out: `Node` and
//! `Cluster`, which scenarios, the demos and the bench use.
//!
//! Invariants: nothing outside a node's own folders, cgroup and network namespace is written; nothing of it is left
//! when it ends; no part that can run for real is replaced by a fake, save the GPUs; nothing waits without a limit.

mod access;
mod agent;
mod api;
mod bare;
mod bed;
mod cluster;
mod containerd;
mod cri;
mod footprint;
mod gpus;
mod images;
mod netns;
mod node;
mod pods;
mod process;
mod proxy;
mod shims;
mod spec;
mod terminal;
mod wait;

pub use access::openable;
pub use agent::{Agent, HOSTNAME, Software};
pub use api::Api;
pub use bare::{Bare, BarePod};
pub use bed::{Bed, Runtime};
pub use cluster::*;
pub use containerd::{Containerd, Start};
pub use cri::{Cri, Seen};
pub use footprint::{Footprint, MARK, sweep};
pub use gpus::Gpus;
pub use images::{BUSYBOX, PAUSE, archives};
pub use netns::{NODE_ADDRESS, Netns};
pub use node::{Node, PREFIX, Setup};
pub use pods::{STAY, container, full_name, gpu_limit, pod, staying};
pub use process::{Process, tail};
pub use proxy::{Calls, Fault, Proxy};
pub use spec::Spec;
pub use terminal::Terminal;
pub use wait::until;
