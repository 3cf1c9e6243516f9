//! The NVLink fabric of machines with NVSwitches.

use std::fmt::Write;

use gpu_model::FabricFacts;
use nvml_wrapper_sys::bindings::{
    NVML_GPU_FABRIC_HEALTH_SUMMARY_LIMITED_CAPACITY, NVML_GPU_FABRIC_HEALTH_SUMMARY_UNHEALTHY,
    NVML_GPU_FABRIC_STATE_COMPLETED, NVML_GPU_FABRIC_STATE_IN_PROGRESS,
    NVML_GPU_FABRIC_STATE_NOT_STARTED, NVML_GPU_FABRIC_STATE_NOT_SUPPORTED, nvmlGpuFabricInfo_v2_t,
    nvmlGpuFabricInfo_v3_t,
};

use crate::call::{Fault, ask, optional};
use crate::code::Code;
use crate::gpu::Gpu;

impl Gpu<'_> {
    /// State of its fabric; `None` for a GPU that is in none.
    pub(crate) fn fabric(&self) -> Result<Option<FabricFacts>, Fault> {
        let newest = self.fabric_info(tag::<nvmlGpuFabricInfo_v3_t>(3));
        let info = match newest {
            Err(fault) if fault.code == Code::ARGUMENT_VERSION_MISMATCH => {
                self.fabric_info(tag::<nvmlGpuFabricInfo_v2_t>(2))
            }
            other => other,
        };
        Ok(optional(info)?.as_ref().and_then(facts))
    }

    /// Asks with a version of the structure. Version 2 is the beginning of version 3.
    fn fabric_info(&self, version: u32) -> Result<nvmlGpuFabricInfo_v3_t, Fault> {
        let mut info = nvmlGpuFabricInfo_v3_t {
            version,
            clusterUuid: [0; 16],
            status: 0,
            cliqueId: 0,
            state: 0,
            healthMask: 0,
            healthSummary: 0,
        };
        ask!(self.library, nvmlDeviceGetGpuFabricInfoV, |function| {
            // SAFETY: the handle came from the library, which is still loaded; the structure is as long
            // as the size in its version field says, or longer.
            unsafe { function(self.handle(), &raw mut info) }
        })?;
        Ok(info)
    }
}

/// `NVML_STRUCT_VERSION`: size and version in one number.
pub(crate) fn tag<T>(version: u32) -> u32 {
    u32::try_from(size_of::<T>()).unwrap_or(0) | version << 24
}

fn facts(info: &nvmlGpuFabricInfo_v3_t) -> Option<FabricFacts> {
    let state = u32::from(info.state);
    if state == NVML_GPU_FABRIC_STATE_NOT_SUPPORTED {
        return None;
    }
    let registered = state == NVML_GPU_FABRIC_STATE_COMPLETED && info.status == 0;
    let cluster = if info.clusterUuid.iter().all(|byte| *byte == 0) {
        String::new()
    } else {
        info.clusterUuid
            .iter()
            .fold(String::new(), |mut hex, byte| {
                // Writing to a `String` cannot fail.
                let _ = write!(hex, "{byte:02x}");
                hex
            })
    };
    Some(FabricFacts {
        complete: registered,
        state: words(info),
        cluster,
        clique: info.cliqueId,
    })
}

fn words(info: &nvmlGpuFabricInfo_v3_t) -> String {
    match u32::from(info.state) {
        NVML_GPU_FABRIC_STATE_NOT_STARTED => "not started".to_owned(),
        NVML_GPU_FABRIC_STATE_IN_PROGRESS => "in progress".to_owned(),
        NVML_GPU_FABRIC_STATE_COMPLETED if info.status != 0 => {
            format!("failed: {}", Code(info.status))
        }
        NVML_GPU_FABRIC_STATE_COMPLETED => match u32::from(info.healthSummary) {
            NVML_GPU_FABRIC_HEALTH_SUMMARY_UNHEALTHY => "completed, unhealthy".to_owned(),
            NVML_GPU_FABRIC_HEALTH_SUMMARY_LIMITED_CAPACITY => "completed, limited".to_owned(),
            _ => "completed".to_owned(),
        },
        other => format!("unknown state {other}"),
    }
}

#[cfg(test)]
mod tests;
