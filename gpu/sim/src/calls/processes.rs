//! Processes on a GPU.

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlProcessInfo_v1_t, nvmlProcessInfo_v2_t};

use crate::abi::Out;
use crate::code::{Answer, Code};
use crate::entry::{Call, entries};
use crate::state::{NOT_APPLICABLE, Process, ProcessKind};
use crate::view::DeviceView;

entries! {
    fn nvmlDeviceGetComputeRunningProcesses(call, device: nvmlDevice_t, count: Out<u32>, infos: Out<nvmlProcessInfo_v1_t>) {
        first_version(call, device, ProcessKind::Compute, count, infos)
    }

    fn nvmlDeviceGetComputeRunningProcesses_v2 | nvmlDeviceGetComputeRunningProcesses_v3(call, device: nvmlDevice_t, count: Out<u32>, infos: Out<nvmlProcessInfo_v2_t>) {
        later_versions(call, device, ProcessKind::Compute, count, infos)
    }

    fn nvmlDeviceGetGraphicsRunningProcesses(call, device: nvmlDevice_t, count: Out<u32>, infos: Out<nvmlProcessInfo_v1_t>) {
        first_version(call, device, ProcessKind::Graphics, count, infos)
    }

    fn nvmlDeviceGetGraphicsRunningProcesses_v2 | nvmlDeviceGetGraphicsRunningProcesses_v3(call, device: nvmlDevice_t, count: Out<u32>, infos: Out<nvmlProcessInfo_v2_t>) {
        later_versions(call, device, ProcessKind::Graphics, count, infos)
    }

    fn nvmlDeviceGetMPSComputeRunningProcesses(call, device: nvmlDevice_t, count: Out<u32>, infos: Out<nvmlProcessInfo_v1_t>) {
        first_version(call, device, ProcessKind::Mps, count, infos)
    }

    fn nvmlDeviceGetMPSComputeRunningProcesses_v2 | nvmlDeviceGetMPSComputeRunningProcesses_v3(call, device: nvmlDevice_t, count: Out<u32>, infos: Out<nvmlProcessInfo_v2_t>) {
        later_versions(call, device, ProcessKind::Mps, count, infos)
    }
}

fn processes(call: &Call, device: nvmlDevice_t, kind: ProcessKind) -> Result<Vec<Process>, Code> {
    let device = call.device(device)?;
    let of_kind = device
        .gpu()
        .processes
        .iter()
        .filter(|process| process.kind == kind)
        .copied();
    Ok(match &device {
        DeviceView::Gpu(_) => of_kind.collect(),
        DeviceView::Mig(mig) => of_kind
            .filter(|process| {
                process.gpu_instance == Some(mig.parent.instance.id)
                    && process.compute_instance == Some(mig.compute.id)
            })
            .collect(),
    })
}

fn first_version(
    call: &Call,
    device: nvmlDevice_t,
    kind: ProcessKind,
    count: Out<u32>,
    infos: Out<nvmlProcessInfo_v1_t>,
) -> Answer {
    let list = processes(call, device, kind)?
        .into_iter()
        .map(|process| nvmlProcessInfo_v1_t {
            pid: process.pid,
            usedGpuMemory: process.used_memory,
        });
    infos.list(count, &list.collect::<Vec<_>>())
}

fn later_versions(
    call: &Call,
    device: nvmlDevice_t,
    kind: ProcessKind,
    count: Out<u32>,
    infos: Out<nvmlProcessInfo_v2_t>,
) -> Answer {
    let list = processes(call, device, kind)?
        .into_iter()
        .map(|process| nvmlProcessInfo_v2_t {
            pid: process.pid,
            usedGpuMemory: process.used_memory,
            gpuInstanceId: process.gpu_instance.unwrap_or(NOT_APPLICABLE),
            computeInstanceId: process.compute_instance.unwrap_or(NOT_APPLICABLE),
        });
    infos.list(count, &list.collect::<Vec<_>>())
}
