//! Processes that use a GPU.

use gpu_model::GpuProcess;
use nvml_wrapper_sys::bindings::nvmlProcessInfo_t;

use crate::call::{Fault, ask, optional};
use crate::gpu::Gpu;

/// Processes of one kind on one GPU that are listed. With more, none of this kind are: NVML gives all
/// or nothing, and no real machine comes near.
const MAX_PROCESSES: usize = 1024;

/// What NVML writes for an instance or a size that does not apply.
const NOT_TOLD_U32: u32 = u32::MAX;
const NOT_TOLD_U64: u64 = u64::MAX;

/// A call that writes processes into a buffer: where its length is, where it begins.
type Buffer = (*mut u32, *mut nvmlProcessInfo_t);

impl Gpu<'_> {
    /// Processes with compute, graphics or MPS contexts, by process id, each once.
    pub(crate) fn processes(&self) -> Result<Vec<GpuProcess>, Fault> {
        let mut all = list(|(count, start)| {
            ask!(
                self.library,
                nvmlDeviceGetComputeRunningProcesses_v3,
                |function| {
                    // SAFETY: the handle came from the library, which is still loaded; `list` gives a buffer
                    // that is as long as the count says.
                    unsafe { function(self.handle(), count, start) }
                }
            )
        })?;
        all.extend(list(|(count, start)| {
            ask!(
                self.library,
                nvmlDeviceGetGraphicsRunningProcesses_v3,
                |function| {
                    // SAFETY: as above.
                    unsafe { function(self.handle(), count, start) }
                }
            )
        })?);
        all.extend(list(|(count, start)| {
            ask!(
                self.library,
                nvmlDeviceGetMPSComputeRunningProcesses_v3,
                |function| {
                    // SAFETY: as above.
                    unsafe { function(self.handle(), count, start) }
                }
            )
        })?);
        all.sort_by_key(|process| (process.pid, process.instance));
        all.dedup_by_key(|process| (process.pid, process.instance));
        Ok(all)
    }
}

fn list(ask: impl FnOnce(Buffer) -> Result<(), Fault>) -> Result<Vec<GpuProcess>, Fault> {
    let mut buffer = vec![EMPTY; MAX_PROCESSES];
    let mut count = u32::try_from(MAX_PROCESSES).unwrap_or(0);
    let told = optional(ask((&raw mut count, buffer.as_mut_ptr())))?;
    // A count above the buffer's length is garbage.
    let length = told
        .and_then(|()| usize::try_from(count).ok())
        .unwrap_or(0)
        .min(MAX_PROCESSES);
    Ok(buffer.iter().take(length).map(process).collect())
}

const EMPTY: nvmlProcessInfo_t = nvmlProcessInfo_t {
    pid: 0,
    usedGpuMemory: 0,
    gpuInstanceId: 0,
    computeInstanceId: 0,
};

fn process(info: &nvmlProcessInfo_t) -> GpuProcess {
    let instance = (info.gpuInstanceId, info.computeInstanceId);
    GpuProcess {
        pid: info.pid,
        memory: Some(info.usedGpuMemory).filter(|memory| *memory != NOT_TOLD_U64),
        instance: Some(instance).filter(|(gpu, _)| *gpu != NOT_TOLD_U32),
    }
}

#[cfg(test)]
mod tests;
