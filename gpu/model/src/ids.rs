//! Names of GPUs and of places on the PCI bus.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// UUID of a GPU (`GPU-…`) or MIG device (`MIG-…`), as NVML prints it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GpuUuid(String);

impl GpuUuid {
    /// Takes the text as it is; [`GpuUuid::is_plausible`] judges it.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it can be a name of a CDI device and of a file: letters, digits and dashes, not empty,
    /// at most 80 bytes (NVML's own buffer). A driver that answers garbage must not get further.
    pub fn is_plausible(&self) -> bool {
        !self.0.is_empty()
            && self.0.len() <= 80
            && self
                .0
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    }
}

impl fmt::Display for GpuUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for GpuUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// Address on the PCI bus. Shown as sysfs writes it: `0000:17:00.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PciAddress {
    /// Domain.
    pub domain: u32,
    /// Bus.
    pub bus: u8,
    /// Device.
    pub device: u8,
    /// Function, 0 to 7.
    pub function: u8,
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            domain,
            bus,
            device,
            function,
        } = self;
        write!(f, "{domain:04x}:{bus:02x}:{device:02x}.{function:x}")
    }
}

/// A text that is not a PCI address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a PCI address such as 0000:17:00.0")]
pub struct NotAPciAddress(String);

impl FromStr for PciAddress {
    type Err = NotAPciAddress;

    /// Accepts both NVML's form (8 hex digits of domain, upper case) and that of sysfs (4, lower case).
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (domain, rest) = text.split_once(':')?;
            let (bus, rest) = rest.split_once(':')?;
            let (device, function) = rest.split_once('.')?;
            Some(Self {
                domain: u32::from_str_radix(domain, 16).ok()?,
                bus: u8::from_str_radix(bus, 16).ok()?,
                device: u8::from_str_radix(device, 16)
                    .ok()
                    .filter(|device| *device < 32)?,
                function: u8::from_str_radix(function, 16)
                    .ok()
                    .filter(|function| *function < 8)?,
            })
        };
        parse().ok_or_else(|| NotAPciAddress(text.to_owned()))
    }
}
