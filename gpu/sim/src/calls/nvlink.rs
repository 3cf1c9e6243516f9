//! NVLinks.

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlPciInfo_t};

use crate::abi::Out;
use crate::code::{Code, INVALID_ARGUMENT, NOT_SUPPORTED};
use crate::entry::{Call, entries};
use crate::state::Link;

/// `nvmlNvLinkCapability_t`: P2P, system memory, P2P atomics, system memory atomics, SLI bridge, valid.
/// Which of them a link has; the SLI bridge is of workstation cards.
const CAPABILITIES: [u32; 6] = [1, 1, 1, 1, 0, 1];

/// Vendor and device id that NVML tells for a far end; the simulator knows its address only.
const REMOTE_ID: u32 = 0;

entries! {
    fn nvmlDeviceGetNvLinkState(call, device: nvmlDevice_t, link: u32, active: Out<u32>) {
        active.set(u32::from(link_of(call, device, link)?.active))
    }

    fn nvmlDeviceGetNvLinkVersion(call, device: nvmlDevice_t, link: u32, version: Out<u32>) {
        version.set(link_of(call, device, link)?.version)
    }

    fn nvmlDeviceGetNvLinkCapability(call, device: nvmlDevice_t, link: u32, capability: u32, result: Out<u32>) {
        link_of(call, device, link)?;
        let capability = usize::try_from(capability).map_err(|_| INVALID_ARGUMENT)?;
        result.set(*CAPABILITIES.get(capability).ok_or(INVALID_ARGUMENT)?)
    }

    fn nvmlDeviceGetNvLinkRemotePciInfo | nvmlDeviceGetNvLinkRemotePciInfo_v2(call, device: nvmlDevice_t, link: u32, pci: Out<nvmlPciInfo_t>) {
        let link = active_link(call, device, link)?;
        pci.set(super::pci::info(link.remote_pci.as_written(), REMOTE_ID, REMOTE_ID)?)
    }

    fn nvmlDeviceGetNvLinkRemoteDeviceType(call, device: nvmlDevice_t, link: u32, kind: Out<u32>) {
        kind.set(active_link(call, device, link)?.remote.number())
    }

    fn nvmlDeviceGetNvLinkErrorCounter(call, device: nvmlDevice_t, link: u32, counter: u32, count: Out<u64>) {
        let link = link_of(call, device, link)?;
        count.set(match counter {
            0 => link.replay_errors,
            1 => link.recovery_errors,
            2 => link.crc_flit_errors,
            3 => link.crc_data_errors,
            4 => link.ecc_data_errors,
            _ => return Err(INVALID_ARGUMENT),
        })
    }

    fn nvmlDeviceResetNvLinkErrorCounters(call, device: nvmlDevice_t, link: u32) {
        let gpu = call.gpu(device)?;
        call.change_gpu(&gpu, |gpu| {
            let number = usize::try_from(link).map_err(|_| INVALID_ARGUMENT)?;
            let link = gpu.nvlinks.get_mut(number).ok_or(INVALID_ARGUMENT)?;
            link.replay_errors = 0;
            link.recovery_errors = 0;
            link.crc_flit_errors = 0;
            link.crc_data_errors = 0;
            link.ecc_data_errors = 0;
            Ok(())
        })
    }
}

/// The link; a GPU without links supports none of this.
fn link_of(call: &Call, device: nvmlDevice_t, link: u32) -> Result<Link, Code> {
    let gpu = call.gpu(device)?;
    if gpu.nvlinks.is_empty() {
        return Err(NOT_SUPPORTED);
    }
    let number = usize::try_from(link).map_err(|_| INVALID_ARGUMENT)?;
    gpu.nvlinks.get(number).cloned().ok_or(INVALID_ARGUMENT)
}

/// The far end is known of links that are up.
fn active_link(call: &Call, device: nvmlDevice_t, link: u32) -> Result<Link, Code> {
    let link = link_of(call, device, link)?;
    if link.active {
        Ok(link)
    } else {
        Err(NOT_SUPPORTED)
    }
}
