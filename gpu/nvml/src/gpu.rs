//! One GPU: its handle and the calls that every GPU must answer.

use std::str::FromStr;

use gpu_model::{GpuUuid, PciAddress, TopologyLevel};
use nvml_wrapper::Device;
use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlPciInfo_t};

use crate::call::{Fault, ask, call, optional};
use crate::library::Library;
use crate::text::text;

/// `NVML_DEVICE_UUID_V2_BUFFER_SIZE`
const UUID_BUFFER: u32 = 96;

/// A GPU, or a MIG device, which has the same kind of handle.
#[derive(Debug)]
pub struct Gpu<'library> {
    pub(crate) library: &'library Library,
    pub(crate) device: Device<'library>,
}

/// A GPU that cannot be used because of what it answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// A call failed that every GPU must answer.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// It answered what cannot be.
    #[error("the driver answers garbage: {0}")]
    Garbage(String),
}

impl<'library> Gpu<'library> {
    pub(crate) fn new(library: &'library Library, device: Device<'library>) -> Self {
        Self { library, device }
    }

    /// Its UUID, as the driver prints it: it may be garbage, see [`GpuUuid::is_plausible`].
    pub fn uuid(&self) -> Result<GpuUuid, Fault> {
        let mut buffer = [0; UUID_BUFFER as usize];
        ask!(self.library, nvmlDeviceGetUUID, |function| {
            // SAFETY: the handle came from the library, which is still loaded; the buffer is writable
            // and as long as its length says.
            unsafe { function(self.handle(), buffer.as_mut_ptr(), UUID_BUFFER) }
        })?;
        Ok(GpuUuid::new(text(&buffer)))
    }

    /// Its place on the PCI bus.
    pub(crate) fn pci(&self) -> Result<PciAddress, Unreadable> {
        let mut info = zeroed_pci_info();
        ask!(self.library, nvmlDeviceGetPciInfo_v3, |function| {
            // SAFETY: the handle came from the library, which is still loaded; the structure is the one
            // of this version of the call.
            unsafe { function(self.handle(), &raw mut info) }
        })?;
        let address = text(&info.busId);
        PciAddress::from_str(&address).map_err(|error| Unreadable::Garbage(error.to_string()))
    }

    /// How near another GPU is on the PCI tree; [`TopologyLevel::System`] when the driver does not tell.
    pub fn level(&self, other: &Gpu<'_>) -> Result<TopologyLevel, Fault> {
        use nvml_wrapper::enum_wrappers::device::TopologyLevel as Nvml;
        // A handle borrows its library, and `Device` has no `Clone`.
        // SAFETY: the handle came from the library, which outlives `other`.
        let other = unsafe { Device::new(other.handle(), other.device.nvml()) };
        let told = optional(call("nvmlDeviceGetTopologyCommonAncestor", || {
            self.device.topology_common_ancestor(other)
        }))?;
        Ok(match told {
            Some(Nvml::Internal) => TopologyLevel::Internal,
            Some(Nvml::Single) => TopologyLevel::SingleSwitch,
            Some(Nvml::Multiple) => TopologyLevel::MultipleSwitches,
            Some(Nvml::HostBridge) => TopologyLevel::HostBridge,
            Some(Nvml::Node) => TopologyLevel::Node,
            Some(Nvml::System) | None => TopologyLevel::System,
        })
    }

    /// The raw handle, for calls that `nvml-wrapper` has not.
    pub(crate) fn handle(&self) -> nvmlDevice_t {
        // SAFETY: only calls of the same library get it, and they end before `self`, which borrows the
        // library, does.
        unsafe { self.device.handle() }
    }
}

/// An empty structure to be filled by a call.
pub(crate) fn zeroed_pci_info() -> nvmlPciInfo_t {
    nvmlPciInfo_t {
        busIdLegacy: [0; 16],
        domain: 0,
        bus: 0,
        device: 0,
        pciDeviceId: 0,
        pciSubSystemId: 0,
        busId: [0; 32],
    }
}
