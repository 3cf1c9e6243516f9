//! Ports: what the loops need from the world. Doors implement them.

mod access;
mod devices;
mod host;
mod keyring;
mod machine;
mod objects;
mod runtime;
mod source;
mod streaming;

pub use access::{Access, AccessAsk, Identity};
pub use devices::{
    DeviceAsk, DeviceGrant, DeviceRefusal, Devices, LivingDevices, PlainEdits, ResourceCount,
};
pub use host::{
    Answer, Asker, ContainerInstance, Host, IdRange, LogOwner, MountSource, PreparedContainer,
    PreparedMount, PreparedPod, Propagation, ResolverConfig,
};
pub use keyring::{
    CredentialOrigin, Keyring, Leave, PullCredential, PullEnd, ServiceAccount, ServiceAccounts,
};
pub use machine::{Machine, MachineFacts};
pub use objects::{ObjectChanges, Objects, PodCertificate, ProjectedSource, References, Token};
pub use runtime::{
    ContainerSpec, ExecOutput, ImageFacts, ListedImage, Runtime, RuntimeCondition,
    RuntimeConditions, RuntimeEvent, RuntimeFacts, RuntimeHandler, SandboxSpec,
};
pub use source::{SourceProblem, SourceSnapshot, WantedPod};
pub use streaming::{Streaming, Streams};
