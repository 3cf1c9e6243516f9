//! A simulated NVML: `libnvidia-ml.so.1` with NVIDIA's C interface and no GPU behind it.
//!
//! Purpose: to run everything that talks to NVML on machines without a GPU, and to make a GPU fail in
//! every way a real one can, at a chosen moment.
//!
//! In: the state directory that `GPUSIM_STATE` names; it holds one file with the whole simulated
//! machine. The program `gpusim` makes and changes it. Out: NVML's functions, structures and return
//! codes, in every process that loads the library, each seeing changes at once; fake device nodes
//! and a fake driver root for container tests.
//!
//! Invariants: nothing crashes or hangs a client unless the state says so, whatever is in the state
//! file; no value is measured, so nothing follows about the speed of anything; no timer, thread or
//! background work; no file is mapped; no panic crosses the C interface; nothing here is linked by
//! the agent, which loads the library as it loads NVIDIA's.

// The C interface. The blocks are in `abi`; the rest are exported names.
#![allow(unsafe_code)]

mod abi;
mod calls;
mod code;
mod device_nodes;
mod driver_root;
mod entry;
mod handles;
mod mig;
mod process;
mod profile;
mod state;
mod store;
mod uuid;
mod view;
mod watch;

pub use calls::exported;
pub use device_nodes::{NodeError, follow as follow_device_nodes, free_majors};
pub use driver_root::{DriverRootError, make_driver_root};
pub use profile::{Profile, ProfileError, names as profile_names};
pub use state::{
    Bar1, Clocks, ComputeInstance, Ecc, EccCounts, Effect, Engines, Event, EventLog, FORMAT,
    Fabric, Fault, Gpu, GpuInstance, Link, Majors, Memory, Mig, MigProfile, NOT_APPLICABLE, Node,
    Pci, Power, Process, ProcessKind, RemapHistogram, RemappedRows, RemoteKind, SramDetail, State,
    Target, Temperature, Text, Utilization,
};
pub use store::{STATE_VARIABLE, Store, StoreError};

/// Says to every client that looks for the symbol that this is a simulator: NVIDIA's library has none by
/// this name. It points to a C string.
#[unsafe(export_name = "gpusim_version")]
pub static SIMULATOR_MARK: &std::ffi::CStr = c"gpusim";
