//! The driver's state in words: the same ones in events, in the API and in `gpuctl`.

use crate::reading::DriverState;

impl DriverState {
    /// One word for tables and the API.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::NoLibrary { .. } => "no-library",
            Self::NotLoaded => "not-loaded",
            Self::VersionMismatch => "version-mismatch",
            Self::Broken { .. } => "broken",
            Self::Unresponsive { .. } => "unresponsive",
            Self::Ready => "ready",
        }
    }

    /// What it means and what to do.
    pub fn message(&self) -> String {
        match self {
            Self::Unknown => "the NVIDIA driver has not been looked for yet".to_owned(),
            Self::NoLibrary { detail } => {
                format!("the NVIDIA driver is not installed, or its root is set wrong: {detail}")
            }
            Self::NotLoaded => "the NVIDIA kernel driver is not loaded (NVML code 9); load it with \
                 modprobe nvidia"
                .to_owned(),
            Self::VersionMismatch => {
                "the loaded NVIDIA kernel driver and its library are of different versions (NVML code 18); \
                 reboot, or load the driver again"
                    .to_owned()
            }
            Self::Broken { code, detail } => {
                format!("the NVIDIA driver cannot be used (NVML code {code}: {detail}); see the kernel log")
            }
            Self::Unresponsive { detail } => {
                format!("the NVIDIA driver does not answer: {detail}; see the kernel log")
            }
            Self::Ready => "the NVIDIA driver works".to_owned(),
        }
    }
}
