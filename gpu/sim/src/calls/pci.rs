//! PCI identity and link.

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlPciInfo_t, nvmlPciInfoExt_v1_t};

use crate::abi::{Out, chars};
use crate::code::{Code, INVALID_ARGUMENT, UNKNOWN};
use crate::entry::entries;
use crate::state::Pci;

/// PCI class 3D controller.
const BASE_CLASS: u32 = 0x03;
const SUB_CLASS: u32 = 0x02;

/// A PCI address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) domain: u32,
    pub(super) bus: u32,
    pub(super) device: u32,
}

/// Reads `0000:1b:00.0`, `00000000:1B:00.0` or `1b:00.0`.
pub(super) fn parse(text: &str) -> Option<Address> {
    let mut parts = text.split('.').next()?.rsplit(':');
    let hex = |part: Option<&str>| u32::from_str_radix(part?, 16).ok();
    let device = hex(parts.next())?;
    let bus = hex(parts.next())?;
    let domain = match parts.next() {
        Some(domain) => hex(Some(domain))?,
        None => 0,
    };
    parts.next().is_none().then_some(Address {
        domain,
        bus,
        device,
    })
}

/// The structure for an address; NVML writes the domain with 8 digits, the legacy form with 4.
pub(super) fn info(
    address: &str,
    device_id: u32,
    subsystem_id: u32,
) -> Result<nvmlPciInfo_t, Code> {
    let Address {
        domain,
        bus,
        device,
    } = parse(address).ok_or(UNKNOWN)?;
    Ok(nvmlPciInfo_t {
        busIdLegacy: chars(format!("{domain:04X}:{bus:02X}:{device:02X}.0").as_bytes()),
        domain,
        bus,
        device,
        pciDeviceId: device_id,
        pciSubSystemId: subsystem_id,
        busId: chars(format!("{domain:08X}:{bus:02X}:{device:02X}.0").as_bytes()),
    })
}

fn info_of(pci: &Pci) -> Result<nvmlPciInfo_t, Code> {
    info(pci.address.as_written(), pci.device_id, pci.subsystem_id)
}

entries! {
    fn nvmlDeviceGetPciInfo | nvmlDeviceGetPciInfo_v2 | nvmlDeviceGetPciInfo_v3(call, device: nvmlDevice_t, pci: Out<nvmlPciInfo_t>) {
        pci.set(info_of(&call.gpu(device)?.pci)?)
    }

    fn nvmlDeviceGetPciInfoExt(call, device: nvmlDevice_t, pci: Out<nvmlPciInfoExt_v1_t>) {
        let gpu = call.gpu(device)?;
        let info = info_of(&gpu.pci)?;
        pci.set_version(1, nvmlPciInfoExt_v1_t {
            version: pci.tag()?,
            domain: info.domain,
            bus: info.bus,
            device: info.device,
            pciDeviceId: info.pciDeviceId,
            pciSubSystemId: info.pciSubSystemId,
            baseClass: BASE_CLASS,
            subClass: SUB_CLASS,
            busId: info.busId,
        })
    }

    fn nvmlDeviceGetMaxPcieLinkGeneration | nvmlDeviceGetGpuMaxPcieLinkGeneration(call, device: nvmlDevice_t, generation: Out<u32>) {
        generation.set(call.gpu(device)?.pci.max_generation)
    }

    fn nvmlDeviceGetCurrPcieLinkGeneration(call, device: nvmlDevice_t, generation: Out<u32>) {
        generation.set(call.gpu(device)?.pci.generation)
    }

    fn nvmlDeviceGetMaxPcieLinkWidth(call, device: nvmlDevice_t, width: Out<u32>) {
        width.set(call.gpu(device)?.pci.max_width)
    }

    fn nvmlDeviceGetCurrPcieLinkWidth(call, device: nvmlDevice_t, width: Out<u32>) {
        width.set(call.gpu(device)?.pci.width)
    }

    fn nvmlDeviceGetPcieReplayCounter(call, device: nvmlDevice_t, replays: Out<u32>) {
        replays.set(call.gpu(device)?.pci.replays)
    }

    fn nvmlDeviceGetPcieThroughput(call, device: nvmlDevice_t, direction: u32, rate: Out<u32>) {
        let pci = &call.gpu(device)?.pci;
        match direction {
            0 => rate.set(pci.transmit_kbps),
            1 => rate.set(pci.receive_kbps),
            _ => Err(INVALID_ARGUMENT),
        }
    }
}

#[cfg(test)]
mod tests;
