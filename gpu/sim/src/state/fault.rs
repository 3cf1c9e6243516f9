//! Injected misbehaviour of calls.

use serde::{Deserialize, Serialize};

/// One fault: which calls it hits and what it does to them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Unique in one state.
    pub id: u64,
    /// Name of an NVML function, or `*`. A name without `_vN` also stands for its versions.
    pub call: String,
    /// Which calls by that name.
    pub target: Target,
    /// What happens.
    pub effect: Effect,
}

/// Whether a fault hits calls on one GPU or every call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// Every call by the name, with or without a GPU.
    Node,
    /// Calls on the GPU with this minor number, or on a MIG device of it.
    Gpu(u32),
}

/// What a fault does to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The call does not return while the fault is there.
    Hang {
        /// Unix time in milliseconds at which the fault ends by itself.
        until: Option<u64>,
    },
    /// The call answers later.
    Delay {
        /// Milliseconds.
        milliseconds: u64,
    },
    /// The call answers with a code.
    Fail {
        /// An `nvmlReturn_t`.
        code: u32,
        /// How many more times; without end when absent.
        times: Option<u32>,
    },
}

impl Fault {
    /// Whether this fault hits a call by this name on this GPU (`None`: a call without a GPU, or
    /// before its GPU is known).
    pub fn hits(&self, call: &str, gpu: Option<u32>) -> bool {
        let here = match (self.target, gpu) {
            (Target::Node, None) => true,
            (Target::Gpu(minor), Some(asked)) => minor == asked,
            (Target::Node, Some(_)) | (Target::Gpu(_), None) => false,
        };
        here && (self.call == "*" || self.call == call || self.call == base_name(call))
    }
}

/// The name of a function without its version suffix.
pub(crate) fn base_name(call: &str) -> &str {
    match call.rsplit_once("_v") {
        Some((base, version))
            if !version.is_empty() && version.bytes().all(|c| c.is_ascii_digit()) =>
        {
            base
        }
        _ => call,
    }
}
