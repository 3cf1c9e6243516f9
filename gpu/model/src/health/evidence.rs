//! What each observation says against a GPU: one function or row for each cause.

use super::{Cause, Clearing, HealthState, Remedy, Report};
use crate::blame::Target;
use crate::facts::FabricFacts;
use crate::ids::GpuUuid;
use crate::reading::{Reading, RecoveryAction};
use crate::xid::{Xid, XidClass};

/// NVML return code: the GPU is lost.
const GPU_IS_LOST: u32 = 15;
/// NVML return code: the GPU needs a reset.
const RESET_REQUIRED: u32 = 16;

pub(super) fn xid(target: Target, code: u32, xid: Xid) -> Report {
    let (state, remedy, clears) = match xid.class {
        XidClass::Application | XidClass::Ignore | XidClass::Degraded => {
            (HealthState::Degraded, Remedy::None, Clearing::Quiet)
        }
        XidClass::Reset => (HealthState::Unhealthy, Remedy::Reset, Clearing::Recovery),
        XidClass::Reboot => (HealthState::Unhealthy, Remedy::Reboot, Clearing::Recovery),
        XidClass::Hardware => (HealthState::Unhealthy, Remedy::Replace, Clearing::Recovery),
    };
    let cause = if Xid::is_known(code) {
        Cause::Xid(code)
    } else {
        Cause::UnknownXid
    };
    let message = format!("XID {code}: {}; {}", xid.meaning, xid.advice);
    Report {
        target,
        cause,
        state,
        remedy,
        clears,
        message,
    }
}

pub(super) fn lost(gpu: &GpuUuid, code: u32) -> Report {
    let (cause, remedy, message) = match code {
        GPU_IS_LOST => (
            Cause::Lost,
            Remedy::Reboot,
            "the driver has lost the GPU (NVML code 15); reboot the node".to_owned(),
        ),
        RESET_REQUIRED => (
            Cause::Lost,
            Remedy::Reset,
            "the GPU needs a reset (NVML code 16); drain and reset it".to_owned(),
        ),
        other => (
            Cause::Failing,
            Remedy::Reset,
            format!("calls on the GPU fail (NVML code {other}); see the kernel log, then reset it"),
        ),
    };
    whole(
        gpu,
        cause,
        HealthState::Unhealthy,
        remedy,
        Clearing::Gone,
        message,
    )
}

pub(super) fn unresponsive(gpu: &GpuUuid, detail: &str) -> Report {
    let message = format!("it does not answer in time: {detail}");
    let state = HealthState::Unresponsive;
    whole(
        gpu,
        Cause::Unresponsive,
        state,
        Remedy::None,
        Clearing::AtOnce,
        message,
    )
}

pub(super) fn silent(gpu: &GpuUuid, fault: &str) -> Report {
    let message = format!("the driver counts it but cannot read it: {fault}");
    let state = HealthState::Unresponsive;
    whole(
        gpu,
        Cause::Silent,
        state,
        Remedy::None,
        Clearing::AtOnce,
        message,
    )
}

pub(super) fn missing(gpu: &GpuUuid) -> Report {
    let message =
        "it was there before and is not now; see the kernel log, check its seating and power";
    let state = HealthState::Unhealthy;
    whole(
        gpu,
        Cause::Missing,
        state,
        Remedy::Reboot,
        Clearing::AtOnce,
        message.to_owned(),
    )
}

pub(super) fn fabric(gpu: &GpuUuid, fabric: &FabricFacts) -> Report {
    let message = format!(
        "its NVLink fabric is not complete ({}), so CUDA cannot start on it; see nvidia-fabricmanager",
        fabric.state
    );
    let state = HealthState::Unhealthy;
    whole(
        gpu,
        Cause::Fabric,
        state,
        Remedy::None,
        Clearing::AtOnce,
        message,
    )
}

/// What a reading says against its GPU, worst or not: each cause at most once.
pub(super) fn of_reading(gpu: &GpuUuid, reading: &Reading) -> Vec<Report> {
    let mut reports = Vec::new();
    reports.extend(reading.recovery.and_then(|action| recovery(gpu, action)));
    let uncorrected = reading.ecc_uncorrected.unwrap_or(0);
    if uncorrected > 0 {
        // A driver with field 230 has said whether the GPU is still usable. An older one has not.
        let (state, remedy) = match reading.recovery {
            Some(_) => (HealthState::Degraded, Remedy::None),
            None => (HealthState::Unhealthy, Remedy::Reset),
        };
        let message =
            format!("{uncorrected} uncorrected memory errors since the driver was loaded");
        reports.push(whole(
            gpu,
            Cause::EccUncorrected,
            state,
            remedy,
            Clearing::Gone,
            message,
        ));
    }
    let remapped = reading.remapped.unwrap_or_default();
    if remapped.pending {
        let message = "a memory row waits for remapping; reset the GPU when it is idle".to_owned();
        let state = HealthState::Degraded;
        reports.push(whole(
            gpu,
            Cause::RemapPending,
            state,
            Remedy::None,
            Clearing::Gone,
            message,
        ));
    }
    if remapped.failed {
        let message = "a memory row could not be remapped; have the GPU replaced".to_owned();
        let state = HealthState::Unhealthy;
        let remedy = Remedy::Replace;
        reports.push(whole(
            gpu,
            Cause::RemapFailed,
            state,
            remedy,
            Clearing::Gone,
            message,
        ));
    }
    reports
}

/// Whether the reading says anything about this cause, if only by not showing it. What the driver left
/// out proves nothing.
pub(super) fn is_told(cause: Cause, reading: &Reading) -> bool {
    match cause {
        Cause::Recovery => reading.recovery.is_some(),
        Cause::EccUncorrected => reading.ecc_uncorrected.is_some(),
        Cause::RemapPending | Cause::RemapFailed => reading.remapped.is_some(),
        // Any reading shows that the GPU answers.
        _ => true,
    }
}

/// NVML field 230. Values 5 to 7 are those of driver branch 13.x headers.
fn recovery(gpu: &GpuUuid, action: RecoveryAction) -> Option<Report> {
    use HealthState::{Degraded, Unhealthy};
    let (state, remedy, words) = match action {
        RecoveryAction::None => return None,
        RecoveryAction::GpuReset => (Unhealthy, Remedy::Reset, "reset the GPU"),
        RecoveryAction::NodeReboot => (Unhealthy, Remedy::Reboot, "reboot the node"),
        RecoveryAction::DrainP2p => (Degraded, Remedy::Drain, "drain peer-to-peer traffic"),
        RecoveryAction::DrainAndReset => (Unhealthy, Remedy::Reset, "drain, then reset the GPU"),
        RecoveryAction::Other(5) => (Degraded, Remedy::Drain, "recover the IMEX domain"),
        RecoveryAction::Other(6) => (Unhealthy, Remedy::Reset, "reset the PCIe bus"),
        RecoveryAction::Other(7) => (Unhealthy, Remedy::Reboot, "reboot the system"),
        RecoveryAction::Other(_) => (Degraded, Remedy::None, "something this agent does not know"),
    };
    let message = format!("the driver asks for a recovery: {words}");
    Some(whole(
        gpu,
        Cause::Recovery,
        state,
        remedy,
        Clearing::Gone,
        message,
    ))
}

fn whole(
    gpu: &GpuUuid,
    cause: Cause,
    state: HealthState,
    remedy: Remedy,
    clears: Clearing,
    message: String,
) -> Report {
    let target = Target::gpu(gpu.clone());
    Report {
        target,
        cause,
        state,
        remedy,
        clears,
        message,
    }
}
