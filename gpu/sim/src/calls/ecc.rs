//! Memory errors and repairs.

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlEccSramErrorStatus_v1_t, nvmlRepairStatus_v1_t,
    nvmlRowRemapperHistogramValues_t,
};

use crate::abi::Out;
use crate::code::{Code, INVALID_ARGUMENT, NOT_SUPPORTED};
use crate::entry::entries;
use crate::state::{Ecc, EccCounts, RemappedRows};
use crate::view::GpuView;

/// `nvmlMemoryLocation_t`: the two places that data-centre GPUs of today count apart.
const DEVICE_MEMORY: u32 = 2;
const SRAM: u32 = 7;
const LAST_LOCATION: u32 = 7;

/// Remapped rows as NVML 13.5 and later tell them; nvml-wrapper-sys has the older header.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct RemappedRowsV2 {
    corrected_active: u32,
    corrected_inactive: u32,
    uncorrected_active: u32,
    uncorrected_inactive: u32,
    pending: u32,
    failure: u32,
}

entries! {
    fn nvmlDeviceGetEccMode(call, device: nvmlDevice_t, current: Out<u32>, pending: Out<u32>) {
        let gpu = call.gpu(device)?;
        current.set(u32::from(gpu.ecc.current.ok_or(NOT_SUPPORTED)?))?;
        pending.set(u32::from(gpu.ecc.pending))
    }

    fn nvmlDeviceGetDefaultEccMode(call, device: nvmlDevice_t, mode: Out<u32>) {
        call.gpu(device)?.ecc.current.ok_or(NOT_SUPPORTED)?;
        mode.set(1)
    }

    fn nvmlDeviceGetTotalEccErrors(call, device: nvmlDevice_t, kind: u32, counter: u32, count: Out<u64>) {
        let gpu = call.gpu(device)?;
        let counts = counts(&gpu, counter)?;
        count.set(match kind {
            0 => counts.corrected(),
            1 => counts.uncorrected(),
            _ => return Err(INVALID_ARGUMENT),
        })
    }

    fn nvmlDeviceGetMemoryErrorCounter(call, device: nvmlDevice_t, kind: u32, counter: u32, location: u32, count: Out<u64>) {
        let gpu = call.gpu(device)?;
        let counts = counts(&gpu, counter)?;
        count.set(match (kind, location) {
            (0, DEVICE_MEMORY) => counts.dram_corrected,
            (1, DEVICE_MEMORY) => counts.dram_uncorrected,
            (0, SRAM) => counts.sram_corrected,
            (1, SRAM) => counts.sram_uncorrected,
            (0 | 1, 0..=LAST_LOCATION) => return Err(NOT_SUPPORTED),
            _ => return Err(INVALID_ARGUMENT),
        })
    }

    fn nvmlDeviceGetSramEccErrorStatus(call, device: nvmlDevice_t, status: Out<nvmlEccSramErrorStatus_v1_t>) {
        let gpu = call.gpu(device)?;
        if gpu.ecc.remapped_rows.is_none() {
            return Err(NOT_SUPPORTED);
        }
        status.set_version(1, sram_status(&gpu.ecc, status.tag()?))
    }

    fn nvmlDeviceGetRemappedRows(call, device: nvmlDevice_t, corrected: Out<u32>, uncorrected: Out<u32>, pending: Out<u32>, failure: Out<u32>) {
        let rows = remapped(&call.gpu(device)?)?;
        corrected.set(rows.corrected)?;
        uncorrected.set(rows.uncorrected)?;
        pending.set(u32::from(rows.pending))?;
        failure.set(u32::from(rows.failure))
    }

    fn nvmlDeviceGetRemappedRows_v2(call, device: nvmlDevice_t, rows: Out<RemappedRowsV2>) {
        let now = remapped(&call.gpu(device)?)?;
        rows.set(RemappedRowsV2 {
            corrected_active: now.corrected,
            corrected_inactive: 0,
            uncorrected_active: now.uncorrected,
            uncorrected_inactive: 0,
            pending: u32::from(now.pending),
            failure: u32::from(now.failure),
        })
    }

    fn nvmlDeviceGetRowRemapperHistogram(call, device: nvmlDevice_t, values: Out<nvmlRowRemapperHistogramValues_t>) {
        let histogram = remapped(&call.gpu(device)?)?.histogram;
        values.set(nvmlRowRemapperHistogramValues_t {
            max: histogram.max,
            high: histogram.high,
            partial: histogram.partial,
            low: histogram.low,
            none: histogram.none,
        })
    }

    fn nvmlDeviceGetRepairStatus(call, device: nvmlDevice_t, status: Out<nvmlRepairStatus_v1_t>) {
        let version = status.tag()?;
        remapped(&call.gpu(device)?)?;
        status.set_version(1, nvmlRepairStatus_v1_t { version, bChannelRepairPending: 0, bTpcRepairPending: 0 })
    }

    fn nvmlDeviceGetRetiredPages(call, device: nvmlDevice_t, cause: u32, count: Out<u32>, addresses: Out<u64>) {
        addresses.list(count, &retired(&call.gpu(device)?, cause)?)
    }

    /// The times of retirement are not simulated: 0.
    fn nvmlDeviceGetRetiredPages_v2(call, device: nvmlDevice_t, cause: u32, count: Out<u32>, addresses: Out<u64>, times: Out<u64>) {
        let pages = retired(&call.gpu(device)?, cause)?;
        addresses.list(count, &pages)?;
        times.fill(&vec![0; pages.len()])
    }

    fn nvmlDeviceGetRetiredPagesPendingStatus(call, device: nvmlDevice_t, pending: Out<u32>) {
        let gpu = call.gpu(device)?;
        retired(&gpu, 0)?;
        pending.set(u32::from(gpu.ecc.retirement_pending))
    }
}

/// Volatile (0) or aggregate (1) counts of a GPU whose ECC is on.
fn counts(gpu: &GpuView, counter: u32) -> Result<EccCounts, Code> {
    if gpu.ecc.current != Some(true) {
        return Err(NOT_SUPPORTED);
    }
    match counter {
        0 => Ok(gpu.ecc.volatile),
        1 => Ok(gpu.ecc.aggregate),
        _ => Err(INVALID_ARGUMENT),
    }
}

fn remapped(gpu: &GpuView) -> Result<RemappedRows, Code> {
    gpu.ecc.remapped_rows.ok_or(NOT_SUPPORTED)
}

/// Retired pages by cause: 0 many single-bit errors, 1 a double-bit error. GPUs that remap rows
/// retire no pages.
fn retired(gpu: &GpuView, cause: u32) -> Result<Vec<u64>, Code> {
    if gpu.ecc.remapped_rows.is_some() || gpu.ecc.current.is_none() {
        return Err(NOT_SUPPORTED);
    }
    match cause {
        0 => Ok(gpu.ecc.retired_single_bit.clone()),
        1 => Ok(gpu.ecc.retired_double_bit.clone()),
        _ => Err(INVALID_ARGUMENT),
    }
}

fn sram_status(ecc: &Ecc, version: u32) -> nvmlEccSramErrorStatus_v1_t {
    let (aggregate, volatile, sram) = (ecc.aggregate, ecc.volatile, ecc.sram);
    nvmlEccSramErrorStatus_v1_t {
        version,
        aggregateUncParity: sram.aggregate_parity,
        aggregateUncSecDed: aggregate
            .sram_uncorrected
            .saturating_sub(sram.aggregate_parity),
        aggregateCor: aggregate.sram_corrected,
        volatileUncParity: sram.volatile_parity,
        volatileUncSecDed: volatile
            .sram_uncorrected
            .saturating_sub(sram.volatile_parity),
        volatileCor: volatile.sram_corrected,
        aggregateUncBucketL2: sram.l2,
        aggregateUncBucketSm: sram.sm,
        aggregateUncBucketPcie: sram.pcie,
        aggregateUncBucketMcu: sram.microcontroller,
        aggregateUncBucketOther: sram.other,
        bThresholdExceeded: u32::from(sram.threshold_exceeded),
    }
}
