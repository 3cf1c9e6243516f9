//! NVLinks and what is at their other ends.

use std::str::FromStr;

use gpu_model::{LinkPeer, NvLink, PciAddress};
use nvml_wrapper_sys::bindings::NVML_NVLINK_MAX_LINKS;

use crate::call::{Fault, ask, call, optional};
use crate::code::{Code, Reach};
use crate::gpu::{Gpu, zeroed_pci_info};
use crate::text::text;

/// `nvmlIntNvLinkDeviceType_t`: the other end is a GPU.
const REMOTE_GPU: u32 = 0;

/// `nvmlIntNvLinkDeviceType_t`: the other end is an NVSwitch.
const REMOTE_SWITCH: u32 = 2;

impl Gpu<'_> {
    /// All NVLinks in link order; empty for a GPU that has none.
    pub(crate) fn links(&self) -> Result<Vec<NvLink>, Fault> {
        let mut links = Vec::new();
        for number in 0..NVML_NVLINK_MAX_LINKS {
            let state = call("nvmlDeviceGetNvLinkState", || {
                self.device.link_wrapper_for(number).is_active()
            });
            let active = match state {
                Ok(active) => active,
                // The GPU has no NVLink, or no more of them.
                Err(fault) if fault.code == Code::INVALID_ARGUMENT => break,
                Err(fault) if fault.code.reach() == Reach::Absent => break,
                Err(fault) => optional(Err(fault))?.unwrap_or(false),
            };
            let peer = if active {
                self.peer(number)?
            } else {
                LinkPeer::Other
            };
            links.push(NvLink {
                number,
                active,
                peer,
            });
        }
        Ok(links)
    }

    fn peer(&self, link: u32) -> Result<LinkPeer, Fault> {
        let mut kind = u32::MAX;
        optional(ask!(
            self.library,
            nvmlDeviceGetNvLinkRemoteDeviceType,
            |function| {
                // SAFETY: the handle came from the library, which is still loaded; the number is writable.
                unsafe { function(self.handle(), link, &raw mut kind) }
            }
        ))?;
        match kind {
            REMOTE_SWITCH => Ok(LinkPeer::Switch),
            REMOTE_GPU => Ok(self
                .peer_address(link)?
                .map_or(LinkPeer::Other, LinkPeer::Gpu)),
            _ => Ok(LinkPeer::Other),
        }
    }

    fn peer_address(&self, link: u32) -> Result<Option<PciAddress>, Fault> {
        let mut info = zeroed_pci_info();
        let told = optional(ask!(
            self.library,
            nvmlDeviceGetNvLinkRemotePciInfo_v2,
            |function| {
                // SAFETY: the handle came from the library, which is still loaded; the structure is the one
                // of this version of the call.
                unsafe { function(self.handle(), link, &raw mut info) }
            }
        ))?;
        Ok(told.and_then(|()| PciAddress::from_str(&text(&info.busId)).ok()))
    }
}
