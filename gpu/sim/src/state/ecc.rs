//! Memory errors of a GPU and what the GPU did about them.

use serde::{Deserialize, Serialize};

/// ECC mode, counters and repairs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ecc {
    /// Mode in effect; absent when the GPU has no ECC.
    pub current: Option<bool>,
    /// Mode after the next reset.
    pub pending: bool,
    /// Counts since the driver was loaded.
    pub volatile: EccCounts,
    /// Counts since the GPU was made.
    pub aggregate: EccCounts,
    /// Detail of SRAM errors (Ampere and later).
    pub sram: SramDetail,
    /// Row remapping (Ampere and later); absent on GPUs that retire pages.
    pub remapped_rows: Option<RemappedRows>,
    /// Retired pages for single-bit errors (before Ampere): their addresses.
    pub retired_single_bit: Vec<u64>,
    /// Retired pages for double-bit errors (before Ampere): their addresses.
    pub retired_double_bit: Vec<u64>,
    /// Pages wait for a reset to be retired.
    pub retirement_pending: bool,
}

/// Error counts by kind and place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EccCounts {
    /// Corrected, in SRAM.
    pub sram_corrected: u64,
    /// Uncorrected, in SRAM.
    pub sram_uncorrected: u64,
    /// Corrected, in device memory.
    pub dram_corrected: u64,
    /// Uncorrected, in device memory.
    pub dram_uncorrected: u64,
}

/// Uncorrected SRAM errors in detail.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SramDetail {
    /// Of the uncorrected ones, found by parity (the rest by SEC-DED), aggregate.
    pub aggregate_parity: u64,
    /// As above, volatile.
    pub volatile_parity: u64,
    /// Aggregate uncorrected errors in the L2 cache.
    pub l2: u64,
    /// In streaming multiprocessors.
    pub sm: u64,
    /// In the PCIe unit.
    pub pcie: u64,
    /// In microcontrollers.
    pub microcontroller: u64,
    /// Elsewhere.
    pub other: u64,
    /// The maker's threshold for replacement is exceeded.
    pub threshold_exceeded: bool,
}

/// Row remapping.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RemappedRows {
    /// Rows remapped for corrected errors.
    pub corrected: u32,
    /// Rows remapped for uncorrected errors.
    pub uncorrected: u32,
    /// A remapping waits for a reset.
    pub pending: bool,
    /// A remapping failed.
    pub failure: bool,
    /// Banks by remapping room that is left.
    pub histogram: RemapHistogram,
}

/// Number of memory banks by the room for remapping that is left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RemapHistogram {
    /// All of it.
    pub max: u32,
    /// Most of it.
    pub high: u32,
    /// Some.
    pub partial: u32,
    /// Little.
    pub low: u32,
    /// None.
    pub none: u32,
}

impl EccCounts {
    /// All corrected errors.
    pub fn corrected(&self) -> u64 {
        self.sram_corrected.saturating_add(self.dram_corrected)
    }

    /// All uncorrected errors.
    pub fn uncorrected(&self) -> u64 {
        self.sram_uncorrected.saturating_add(self.dram_uncorrected)
    }
}
