//! One event.

use proto::gpulet as wire;
use serde::Serialize;

use super::Moment;

/// Something that happened on the node.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Event {
    pub(crate) number: u64,
    /// When it happened last.
    pub(crate) at: Option<Moment>,
    /// `Normal` or `Warning`.
    pub(crate) r#type: String,
    pub(crate) reason: String,
    /// `node`, `namespace/name` of a pod, or UUID of a GPU.
    pub(crate) subject: String,
    pub(crate) container: String,
    pub(crate) message: String,
    pub(crate) why: String,
    /// How often it happened.
    pub(crate) count: u32,
}

impl Event {
    pub(crate) fn is_warning(&self) -> bool {
        self.r#type == "Warning"
    }

    /// Whether it is about this pod or GPU.
    pub(crate) fn is_about(&self, subject: &str) -> bool {
        self.subject == subject
    }
}

impl From<wire::Event> for Event {
    fn from(told: wire::Event) -> Self {
        Self {
            number: told.number,
            at: Moment::told(told.at),
            r#type: told.r#type,
            reason: told.reason,
            subject: told.subject,
            container: told.container,
            message: told.message,
            why: told.why,
            count: told.count,
        }
    }
}
