//! Ports: what the loops need from the world. Doors implement them.

mod access;
mod devices;
mod host;
mod keyring;
mod objects;
mod runtime;
mod source;
mod streaming;

pub use access::{Access, AccessAsk, Identity};
pub use devices::{
    DeviceAsk, DeviceGrant, DeviceRefusal, Devices, LivingDevices, PlainEdits, ResourceCount,
};
pub use host::{
    Answer, Asker, Host, LogOwner, PreparedContainer, PreparedMount, PreparedPod, Propagation,
    ResolverConfig,
};
pub use keyring::{CredentialOrigin, Keyring, PullCredential};
pub use objects::{ObjectChanges, Objects, PodCertificate, ProjectedSource, References, Token};
pub use runtime::{
    ContainerSpec, ExecOutput, ImageFacts, ListedImage, Runtime, RuntimeEvent, RuntimeFacts,
    SandboxSpec,
};
pub use source::{SourceProblem, SourceSnapshot, WantedPod};
pub use streaming::{Streaming, Streams};
