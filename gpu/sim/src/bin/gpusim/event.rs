//! Raising events.

use nvidia_ml::{Event, NOT_APPLICABLE, State};

use crate::arguments::{self, EventKind, Place, Xid};
use crate::failure::Failure;
use crate::target;

/// `nvmlEventTypeXidCriticalError`
const XID: u64 = 0x8;

/// Raises an XID.
pub(crate) fn xid(state: &mut State, options: &Xid) -> Result<String, Failure> {
    let gpus = raise(state, &options.gpu, XID, options.code, &options.place)?;
    Ok(format!("{gpus}: XID {}", options.code))
}

/// Raises another event.
pub(crate) fn event(state: &mut State, options: &arguments::Event) -> Result<String, Failure> {
    let kind = bit(options.kind);
    let gpus = raise(state, &options.gpu, kind, options.data, &options.place)?;
    Ok(format!("{gpus}: event {kind:#x}, data {}", options.data))
}

fn raise(
    state: &mut State,
    gpu: &str,
    kind: u64,
    data: u64,
    place: &Place,
) -> Result<String, Failure> {
    let minors = target::gpus(state, gpu)?;
    for gpu in &minors {
        state.events.push(Event {
            sequence: 0,
            gpu: *gpu,
            kind,
            data,
            gpu_instance: place.gi.unwrap_or(NOT_APPLICABLE),
            compute_instance: place.ci.unwrap_or(NOT_APPLICABLE),
        });
    }
    Ok(target::listed(&minors))
}

/// `nvmlEventType*` bits.
fn bit(kind: EventKind) -> u64 {
    match kind {
        EventKind::SingleBitEcc => 0x1,
        EventKind::DoubleBitEcc => 0x2,
        EventKind::PerformanceState => 0x4,
        EventKind::Clock => 0x10,
        EventKind::PowerSource => 0x80,
        EventKind::MigConfig => 0x100,
        EventKind::SingleBitEccStorm => 0x200,
        EventKind::DramRetirement => 0x400,
        EventKind::DramRetirementFailure => 0x800,
        EventKind::NonFatalPoison => 0x1000,
        EventKind::FatalPoison => 0x2000,
        EventKind::GpuUnavailable => 0x4000,
        EventKind::RecoveryAction => 0x8000,
    }
}
