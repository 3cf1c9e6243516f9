//! What is shown, whoever told it: the agent or NVML itself.
//!
//! These types are the contract of `-o json` and `-o yaml`: keys are lowerCamelCase as in Kubernetes
//! objects and always there. A number or time that is not known is `null`, a text that is not known is
//! empty. Units are in the keys where they are not bytes. Keys are added, never renamed.

mod cdi;
mod event;
mod gpu;
mod moment;
mod node;
mod pod;
mod verdict;
mod xid;

pub(crate) use cdi::{CdiCheck, CdiEdits, CdiFile};
pub(crate) use event::Event;
pub(crate) use gpu::{
    Finding, Gpu, Health, Holder, MigDevice, MigProfile, Process, Reading, clock_reasons,
};
pub(crate) use moment::Moment;
pub(crate) use node::{Driver, Machine, Node, Origin, Problem};
pub(crate) use pod::Pod;
pub(crate) use verdict::{State, Verdict};
pub(crate) use xid::Xid;
