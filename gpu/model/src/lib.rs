//! GPUs as plain data: inventory, wiring, XID catalogue, health, occupancy.
//!
//! In: what the probe tells ([`ProbeReport`]), what owners ask for, and the time. Out: what is there
//! ([`Inventory`]), how well it is ([`HealthBook`]), who holds it ([`Occupancy`]), and which devices to
//! give next ([`allot`]). Books change only by functions that take the old book and return the new
//! one with a list of changes; the same input gives the same output.
//!
//! Nothing here is async, does I/O, reads a clock, or knows NVML function names or Kubernetes names.

mod allot;
mod blame;
mod device;
mod driver;
mod facts;
#[cfg(test)]
mod fixtures;
mod health;
mod ids;
mod inventory;
mod occupancy;
mod reading;
mod select;
mod sift;
mod time;
mod topology;
mod xid;

pub use allot::{Allotment, Ask, Shortage, Stock, allot, demand};
pub use blame::{Blame, Target, blame};
pub use device::{Device, DeviceKind};
pub use facts::{
    DriverFacts, FabricFacts, GpuFacts, LinkPeer, MachineFacts, MigDevice, MigFacts, MigProfile,
    NvLink, SilentGpu, TopologyLevel,
};
pub use health::{
    Cause, Clearing, Finding, HOLD_TIME, HOLD_TIME_LIMIT, HealthBook, HealthChange, HealthEvent,
    HealthState, RELAPSE_TIME, Remedy,
};
pub use ids::{GpuUuid, NotAPciAddress, PciAddress};
pub use inventory::{Inventory, InventoryChange, KnownGpu, Presence};
pub use occupancy::{
    Contest, Holding, Occupancy, OccupancyChange, OccupancyEvent, Owner, OwnerId, Share,
};
pub use reading::{
    DriverState, GpuEvent, GpuProcess, ProbeReport, Reading, RecoveryAction, RemappedRows,
};
pub use select::{Choice, Score, select};
pub use sift::{Rejected, sift};
pub use time::Time;
pub use topology::{Pair, Topology};
pub use xid::{CATALOGUE, Xid, XidClass, XidScope};
