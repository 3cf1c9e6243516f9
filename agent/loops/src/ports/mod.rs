//! Ports: what the loops need from the world. Doors implement them.

mod devices;
mod host;
mod runtime;
mod source;

pub use devices::{DeviceAsk, DeviceGrant, DeviceRefusal, Devices, LivingDevices, PlainEdits};
pub use host::{
    Answer, Asker, Host, LogOwner, PreparedContainer, PreparedMount, PreparedPod, Propagation,
    ResolverConfig,
};
pub use runtime::{
    ContainerSpec, ExecOutput, ImageFacts, Runtime, RuntimeEvent, RuntimeFacts, SandboxSpec,
};
pub use source::{SourceProblem, SourceSnapshot, WantedPod};
