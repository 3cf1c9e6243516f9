//! NVIDIA's management library, libnvidia-ml.so.1, in safe Rust and in words of `gpu-model`.
//!
//! In: where the library may lie, where sysfs is mounted. Out: facts, readings and events of GPUs, and
//! for everything that failed the call and its NVML return code.
//!
//! Invariants: `unsafe` is in no other crate that ships but the simulator. The library is loaded, never
//! linked, and a function it lacks is an error of that call. What it answers is not trusted: texts may
//! be no text, counts may be absurd, UUIDs may be garbage; none of it panics or allocates more than a
//! fixed bound. No call is made in the background, none is repeated, nothing is decided about health.
//! Any call may hang: whoever calls from a thread that must not, is wrong here (see `gpu-probe`).

#![allow(unsafe_code)]

mod call;
mod code;
mod events;
mod fabric;
mod facts;
mod fields;
mod gpu;
mod library;
mod links;
mod mig;
mod processes;
mod reading;
mod sysfs;
mod text;

pub use call::{CallMark, Fault, mark_calls};
pub use code::{Code, Reach};
pub use events::EventWait;
pub use gpu::{Gpu, Unreadable};
pub use library::{Library, OpenError, Places};

/// GPUs that are looked at. The largest machines have 16; the driver's minor numbers end at 247. A
/// count above this is garbage, and memory for it is never reserved.
pub const MAX_GPUS: u32 = 64;
