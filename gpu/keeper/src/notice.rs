//! What happened, for the event stream.

use gpu_model::{GpuUuid, Owner, Time};

/// Something that a person may care about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// When.
    pub at: Time,
    /// Something is wrong.
    pub warning: bool,
    /// One CamelCase word.
    pub reason: &'static str,
    /// About what.
    pub subject: Subject,
    /// In words.
    pub message: String,
    /// Cause; may be empty.
    pub why: String,
    /// Number of the fault it is about, the same in all notices and log lines of one fault.
    pub fault: Option<u64>,
}

/// What a notice is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// This machine.
    Node,
    /// A GPU.
    Gpu(GpuUuid),
    /// Somebody who holds or wants devices.
    Owner(Owner),
}

impl Notice {
    /// Writes it to the log for debugging; whoever takes notices tells people.
    pub(crate) fn log(&self) {
        let Self {
            reason,
            message,
            why,
            ..
        } = self;
        let gpu = match &self.subject {
            Subject::Gpu(gpu) => Some(gpu.as_str()),
            _ => None,
        };
        let (pod, uid) = match &self.subject {
            Subject::Owner(owner) => (Some(owner.name.as_str()), Some(owner.id.0.as_str())),
            _ => (None, None),
        };
        let fault = self.fault;
        tracing::debug!(reason, gpu, pod, uid, fault, why, "{message}");
    }
}
