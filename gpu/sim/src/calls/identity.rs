//! Finding devices and what they are.

use std::ffi::c_char;

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlDeviceAddressingMode_v1_t, nvmlDeviceCapabilities_v1_t, nvmlUUID_v1_t,
};

use crate::abi::{In, Out};
use crate::code::{
    ARGUMENT_VERSION_MISMATCH, Answer, Code, INVALID_ARGUMENT, NOT_FOUND, NOT_SUPPORTED,
};
use crate::entry::{Call, entries};
use crate::handles::Handle;
use crate::process;
use crate::state::Gpu;
use crate::uuid;
use crate::view::DeviceView;

/// `NVML_UUID_TYPE_ASCII` and `NVML_UUID_TYPE_BINARY`
const UUID_AS_TEXT: u32 = 1;
const UUID_AS_BYTES: u32 = 2;

/// Buffer size that `nvmlDeviceGetGspFirmwareVersion` requires of its callers.
const GSP_VERSION_BUFFER: u32 = 64;

entries! {
    fn nvmlDeviceGetCount | nvmlDeviceGetCount_v2(call, count: Out<u32>) {
        count.set(call.state().reported_count())
    }

    fn nvmlDeviceGetHandleByIndex | nvmlDeviceGetHandleByIndex_v2(call, index: u32, device: Out<nvmlDevice_t>) {
        let position = usize::try_from(index).map_err(|_| INVALID_ARGUMENT)?;
        let minor = call.state().present().nth(position).ok_or(INVALID_ARGUMENT)?.minor;
        give(call, minor, device)
    }

    fn nvmlDeviceGetHandleByUUID(call, uuid: In<c_char>, device: Out<nvmlDevice_t>) {
        by_uuid(call, &uuid.text()?, device)
    }

    fn nvmlDeviceGetHandleByUUIDV(call, uuid: In<nvmlUUID_v1_t>, device: Out<nvmlDevice_t>) {
        let uuid = uuid.get()?;
        if uuid.version != crate::abi::tag::<nvmlUUID_v1_t>(1) {
            return Err(ARGUMENT_VERSION_MISMATCH);
        }
        let (text, bytes) = crate::abi::uuid_forms(uuid.value);
        match uuid.type_ {
            UUID_AS_TEXT => {
                let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
                by_uuid(call, &String::from_utf8_lossy(text), device)
            }
            UUID_AS_BYTES => find(call, device, |gpu| uuid::to_bytes(text_after_prefix(gpu)) == bytes),
            _ => Err(INVALID_ARGUMENT),
        }
    }

    fn nvmlDeviceGetHandleByPciBusId | nvmlDeviceGetHandleByPciBusId_v2(call, address: In<c_char>, device: Out<nvmlDevice_t>) {
        let wanted = super::pci::parse(&address.text()?).ok_or(INVALID_ARGUMENT)?;
        find(call, device, |gpu| super::pci::parse(gpu.pci.address.as_written()) == Some(wanted))
    }

    fn nvmlDeviceGetHandleBySerial(call, serial: In<c_char>, device: Out<nvmlDevice_t>) {
        let serial = serial.text()?;
        find(call, device, |gpu| gpu.serial.as_written() == serial)
    }

    fn nvmlDeviceGetName(call, device: nvmlDevice_t, name: Out<c_char>, length: u32) {
        match call.device(device)? {
            DeviceView::Gpu(gpu) => name.text(length, &gpu.name.bytes()),
            DeviceView::Mig(mig) => {
                let mut text = mig.parent.gpu.name.bytes();
                text.extend_from_slice(format!(" MIG {}", mig.profile_name()?).as_bytes());
                name.text(length, &text)
            }
        }
    }

    fn nvmlDeviceGetUUID(call, device: nvmlDevice_t, uuid: Out<c_char>, length: u32) {
        match call.device(device)? {
            DeviceView::Gpu(gpu) => uuid.text(length, &gpu.uuid.bytes()),
            DeviceView::Mig(mig) => uuid.text(length, &mig.compute.uuid.bytes()),
        }
    }

    fn nvmlDeviceGetIndex(call, device: nvmlDevice_t, index: Out<u32>) {
        match call.device(device)? {
            DeviceView::Gpu(gpu) => {
                let position = gpu.state().present().position(|other| other.minor == gpu.minor);
                let position = position.and_then(|position| u32::try_from(position).ok());
                index.set(position.ok_or(NOT_FOUND)?)
            }
            DeviceView::Mig(mig) => index.set(mig.compute.index),
        }
    }

    fn nvmlDeviceGetMinorNumber(call, device: nvmlDevice_t, minor: Out<u32>) {
        minor.set(call.gpu(device)?.minor)
    }

    fn nvmlDeviceGetSerial(call, device: nvmlDevice_t, serial: Out<c_char>, length: u32) {
        serial.text(length, &call.gpu(device)?.serial.bytes())
    }

    /// Made from the PCI address, so that each GPU is a board of its own.
    fn nvmlDeviceGetBoardId(call, device: nvmlDevice_t, board: Out<u32>) {
        let address = super::pci::parse(call.gpu(device)?.pci.address.as_written());
        board.set(address.map_or(0, |address| address.domain << 16 | address.bus << 8))
    }

    fn nvmlDeviceGetMultiGpuBoard(call, device: nvmlDevice_t, multiple: Out<u32>) {
        call.gpu(device)?;
        multiple.set(0)
    }

    fn nvmlDeviceGetBoardPartNumber(call, device: nvmlDevice_t, number: Out<c_char>, length: u32) {
        number.text(length, &call.gpu(device)?.board_part_number.bytes())
    }

    fn nvmlDeviceGetModuleId(call, device: nvmlDevice_t, module: Out<u32>) {
        module.set(call.gpu(device)?.module_id)
    }

    fn nvmlDeviceGetBrand(call, device: nvmlDevice_t, brand: Out<u32>) {
        brand.set(call.device(device)?.gpu().brand)
    }

    fn nvmlDeviceGetArchitecture(call, device: nvmlDevice_t, architecture: Out<u32>) {
        architecture.set(call.device(device)?.gpu().architecture)
    }

    fn nvmlDeviceGetCudaComputeCapability(call, device: nvmlDevice_t, major: Out<i32>, minor: Out<i32>) {
        let capability = call.device(device)?.gpu().compute_capability;
        major.set(capability.0)?;
        minor.set(capability.1)
    }

    fn nvmlDeviceGetNumGpuCores(call, device: nvmlDevice_t, cores: Out<u32>) {
        cores.set(call.gpu(device)?.cores)
    }

    fn nvmlDeviceGetVbiosVersion(call, device: nvmlDevice_t, version: Out<c_char>, length: u32) {
        version.text(length, &call.gpu(device)?.vbios.bytes())
    }

    fn nvmlDeviceGetInforomImageVersion(call, device: nvmlDevice_t, version: Out<c_char>, length: u32) {
        version.text(length, &call.gpu(device)?.inforom_image.bytes())
    }

    fn nvmlDeviceGetPersistenceMode(call, device: nvmlDevice_t, mode: Out<u32>) {
        mode.set(u32::from(call.gpu(device)?.persistence_mode))
    }

    fn nvmlDeviceGetComputeMode(call, device: nvmlDevice_t, mode: Out<u32>) {
        mode.set(call.gpu(device)?.compute_mode)
    }

    fn nvmlDeviceGetDisplayMode | nvmlDeviceGetDisplayActive(call, device: nvmlDevice_t, display: Out<u32>) {
        call.gpu(device)?;
        display.set(0)
    }

    /// No virtualisation: the bare machine.
    fn nvmlDeviceGetVirtualizationMode(call, device: nvmlDevice_t, mode: Out<u32>) {
        call.gpu(device)?;
        mode.set(0)
    }

    /// Heterogeneous memory management, or address translation on coherent machines.
    fn nvmlDeviceGetAddressingMode(call, device: nvmlDevice_t, mode: Out<nvmlDeviceAddressingMode_v1_t>) {
        let coherent = call.gpu(device)?.memory_numa_node.is_some();
        let value = if coherent { 2 } else { 1 };
        mode.set_version(1, nvmlDeviceAddressingMode_v1_t { version: mode.tag()?, value })
    }

    fn nvmlDeviceGetCapabilities(call, device: nvmlDevice_t, capabilities: Out<nvmlDeviceCapabilities_v1_t>) {
        call.gpu(device)?;
        let version = capabilities.tag()?;
        capabilities.set_version(1, nvmlDeviceCapabilities_v1_t { version, capMask: 0 })
    }

    fn nvmlDeviceGetGspFirmwareVersion(call, device: nvmlDevice_t, version: Out<c_char>) {
        let gpu = call.gpu(device)?;
        let text = gpu.gsp_firmware.bytes();
        if text.is_empty() {
            return Err(NOT_SUPPORTED);
        }
        version.text(GSP_VERSION_BUFFER, &text)
    }

    fn nvmlDeviceGetGspFirmwareMode(call, device: nvmlDevice_t, enabled: Out<u32>, default: Out<u32>) {
        let in_use = u32::from(!call.gpu(device)?.gsp_firmware.as_written().is_empty());
        enabled.set(in_use)?;
        default.set(in_use)
    }

    fn nvmlDeviceGetIrqNum(call, device: nvmlDevice_t, number: Out<u32>) {
        number.set(call.gpu(device)?.irq)
    }

    fn nvmlDeviceOnSameBoard(call, first: nvmlDevice_t, second: nvmlDevice_t, same: Out<i32>) {
        same.set(i32::from(call.gpu(first)?.minor == call.gpu(second)?.minor))
    }
}

/// Hands out the handle of a GPU once the faults on it are passed.
fn give(call: &Call, minor: u32, device: Out<nvmlDevice_t>) -> Answer {
    if device.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    call.reach(minor)?;
    device.set(process::with(|process| process.handle(Handle::Gpu(minor))))
}

fn find(call: &Call, device: Out<nvmlDevice_t>, wanted: impl Fn(&Gpu) -> bool) -> Answer {
    let found = call
        .state()
        .present()
        .find(|gpu| wanted(gpu))
        .ok_or(NOT_FOUND)?;
    give(call, found.minor, device)
}

fn by_uuid(call: &Call, uuid: &str, device: Out<nvmlDevice_t>) -> Answer {
    if uuid.is_empty() {
        return Err(INVALID_ARGUMENT);
    }
    if uuid.starts_with("MIG-") {
        by_mig_uuid(call, uuid, device)
    } else {
        find(call, device, |gpu| gpu.uuid.as_written() == uuid)
    }
}

/// Finds a MIG device by `MIG-<uuid>`.
fn by_mig_uuid(call: &Call, uuid: &str, device: Out<nvmlDevice_t>) -> Answer {
    let serial_of = |gpu: &Gpu| -> Option<u64> {
        let instances = gpu.mig.iter().flat_map(|mig| &mig.instances);
        let mut devices = instances.flat_map(|instance| &instance.compute);
        devices
            .find(|compute| compute.uuid.as_written() == uuid)
            .map(|compute| compute.serial)
    };
    let mut gpus = call.state().present();
    let found = gpus.find_map(|gpu| Some((gpu.minor, serial_of(gpu)?)));
    let (gpu, serial) = found.ok_or::<Code>(NOT_FOUND)?;
    call.reach(gpu)?;
    device.set(process::with(|process| {
        process.handle(Handle::MigDevice { gpu, serial })
    }))
}

fn text_after_prefix(gpu: &Gpu) -> &str {
    gpu.uuid.as_written().trim_start_matches("GPU-")
}
