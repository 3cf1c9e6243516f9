//! The driver's state in words.

use gpu_model::DriverState;

/// One CamelCase word for events and reasons.
pub fn driver_reason(state: &DriverState) -> &'static str {
    match state {
        DriverState::Unknown => "DriverUnknown",
        DriverState::NoLibrary { .. } => "DriverNoLibrary",
        DriverState::NotLoaded => "DriverNotLoaded",
        DriverState::VersionMismatch => "DriverVersionMismatch",
        DriverState::Broken { .. } => "DriverBroken",
        DriverState::Unresponsive { .. } => "DriverUnresponsive",
        DriverState::Ready => "DriverReady",
    }
}

/// What it means and what to do.
pub fn driver_words(state: &DriverState) -> String {
    state.message()
}
