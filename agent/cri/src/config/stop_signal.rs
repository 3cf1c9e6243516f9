//! The signal that asks a container to end.

use k8s_openapi::api::core::v1::Container;
use proto::cri::Signal;

use super::error::ConfigError;

/// `lifecycle.stopSignal`; without it the image's, else SIGTERM.
pub(crate) fn stop_signal(container: &Container) -> Result<Signal, ConfigError> {
    let lifecycle = container.lifecycle.as_ref();
    let Some(name) = lifecycle.and_then(|lifecycle| lifecycle.stop_signal.as_deref()) else {
        return Ok(Signal::RuntimeDefault);
    };
    // In the runtime's interface the names have a prefix, and no plus and minus.
    let plain = name.replace('+', "PLUS").replace('-', "MINUS");
    let signal = Signal::from_str_name(&format!("SIGNAL_{plain}"));
    signal
        .filter(|_| name.starts_with("SIG"))
        .ok_or_else(|| ConfigError::Value {
            field: "lifecycle.stopSignal",
            value: name.to_owned(),
            allowed: "names of signals like SIGTERM and SIGRTMIN+1",
        })
}

#[cfg(test)]
mod tests;
