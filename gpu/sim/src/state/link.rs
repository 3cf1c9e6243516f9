//! One NVLink of a GPU.

use serde::{Deserialize, Serialize};

use super::Text;

/// State, far end and error counters of one link.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Link {
    /// Whether the link is up.
    pub active: bool,
    /// `nvmlNvlinkVersion_t`: 2 is NVLink 2.0, 4 is 3.0, 6 is 4.0, 7 is 5.0.
    pub version: u32,
    /// Speed of one direction in MB/s.
    pub speed_mbps: u32,
    /// What is at the far end.
    pub remote: RemoteKind,
    /// PCI address of the far end.
    pub remote_pci: Text,
    /// Number of the link at the far end.
    pub remote_link: u32,
    /// Replays of the data link layer.
    pub replay_errors: u64,
    /// Recoveries of the data link layer.
    pub recovery_errors: u64,
    /// Flits with a wrong checksum.
    pub crc_flit_errors: u64,
    /// Data with a wrong checksum.
    pub crc_data_errors: u64,
    /// Data with an ECC error.
    pub ecc_data_errors: u64,
}

/// Kind of device at the far end of a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RemoteKind {
    /// Another GPU.
    Gpu,
    /// An NVSwitch.
    Switch,
    /// Not known to the driver.
    #[default]
    Unknown,
}

impl RemoteKind {
    /// Value of `nvmlIntNvLinkDeviceType_t`.
    pub(crate) fn number(self) -> u32 {
        match self {
            Self::Gpu => 0,
            Self::Switch => 2,
            Self::Unknown => 255,
        }
    }
}
