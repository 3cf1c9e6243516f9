//! Decisions of the kubelet: plain data in, plain data out.
//!
//! In: what is wanted (`PodWant`), what the runtime shows (`PodHave`), the little that cannot be
//! observed (`PodMemory`), bundled in a `PodView`. Out: a `Plan` with one wave of actions, each with
//! its `Why`, and the status.
//!
//! The owner task of a pod begins with `PodMemory::adopt`, merges every look at the runtime with
//! `observe`, asks `decide`, tells `begin` before and `record` after each action, and asks again.
//! `decide` is total and repeatable: the same view at the same time gives the same plan. `roster` says
//! which pods there should be.
//!
//! Nothing here is async, does I/O, reads a clock, takes a lock, logs, panics, or knows protobuf or
//! Kubernetes client types; nothing here knows what a GPU is.

mod admit;
mod compute;
mod decide;
mod downward;
mod end;
mod fail;
mod gates;
mod have;
mod ids;
mod image;
mod instances;
mod memory;
mod observe;
mod plan;
mod probe;
mod quantity;
mod record;
mod render;
mod restart;
mod roster;
mod status;
#[cfg(test)]
mod testing;
mod time;
mod view;
mod want;
mod words;

pub use admit::{
    Affinity, HostPort, Needs, NodeOffer, Operator, PodSysctls, Rejection, Requirement, Taint,
    Term, Toleration, admit,
};
pub use compute::{Compute, QosClass, Span, cpu_quota, cpu_shares};
pub use decide::decide;
pub use downward::{expand, in_units, pair_lines, subscript};
pub use fail::{Fail, FailKind};
pub use have::{
    ContainerHave, ContainerUser, Exit, Observation, PodHave, Recovered, RunState, SandboxHave,
    SandboxNetwork,
};
pub use ids::{
    CdiName, ContainerId, ContainerName, DeviceId, ImageName, PodName, PodUid, ResourceName,
    SandboxId,
};
pub use image::{ImageReference, ImageReferenceError};
pub use memory::{Backoff, DeviceState, Failure, Instance, PodEnd, PodMemory, Refusal};
pub use observe::observe;
pub use plan::{Action, Life, Plan, ProbeKind, Probing, Step, StopWhy, Why, stop_timeout};
pub use probe::ProbeState;
pub use quantity::{Quantity, QuantityError};
pub use record::{Outcome, begin, record};
pub use render::render;
pub use roster::{Change, KnownPod, Stage, Synced, roster};
pub use status::{ContainerState, ContainerStatus, Phase, PodStatus, Terminated};
pub use time::Time;
pub use view::{PodView, ProbeResults, Rules, Stop};
pub use want::{
    Check, ContainerWant, Deletion, Hook, HttpGet, ImageVolume, PodOver, PodWant, Probe, Probes,
    PullPolicy, RestartPolicy, RestartRule,
};
