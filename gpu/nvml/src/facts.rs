//! Everything about one GPU that stays while the driver is loaded.

use std::path::Path;

use gpu_model::{GpuFacts, GpuUuid, PciAddress};
use nvml_wrapper_sys::bindings::{
    NVML_AFFINITY_SCOPE_NODE, NVML_DEVICE_ARCH_ADA, NVML_DEVICE_ARCH_AMPERE,
    NVML_DEVICE_ARCH_BLACKWELL, NVML_DEVICE_ARCH_HOPPER, NVML_DEVICE_ARCH_KEPLER,
    NVML_DEVICE_ARCH_MAXWELL, NVML_DEVICE_ARCH_PASCAL, NVML_DEVICE_ARCH_TURING,
    NVML_DEVICE_ARCH_VOLTA,
};

use crate::call::{Fault, ask, call, optional};
use crate::gpu::{Gpu, Unreadable};
use crate::sysfs;
use crate::text::text;

/// `NVML_DEVICE_NAME_V2_BUFFER_SIZE`
const NAME_BUFFER: u32 = 96;

/// `NVML_DEVICE_SERIAL_BUFFER_SIZE`
const SERIAL_BUFFER: u32 = 30;

/// Largest minor number of a GPU. The driver's own nodes follow: 254 is nvidia-modeset, 255 nvidiactl
/// (`NV_MINOR_DEVICE_NUMBER_REGULAR_MAX` of NVIDIA's open kernel modules). A container must not get
/// one of those because of a wrong answer.
const MAX_MINOR: u32 = 247;

/// Words of the CPU set that is asked for: 2048 CPUs.
const CPU_SET_WORDS: usize = 32;

/// Words of the set of NUMA nodes that is asked for: 1024 nodes, the most that Linux has.
const NODE_SET_WORDS: usize = 16;

/// Names of architectures in lower case, as node labels spell them.
const ARCHITECTURES: &[(u32, &str)] = &[
    (NVML_DEVICE_ARCH_KEPLER, "kepler"),
    (NVML_DEVICE_ARCH_MAXWELL, "maxwell"),
    (NVML_DEVICE_ARCH_PASCAL, "pascal"),
    (NVML_DEVICE_ARCH_VOLTA, "volta"),
    (NVML_DEVICE_ARCH_TURING, "turing"),
    (NVML_DEVICE_ARCH_AMPERE, "ampere"),
    (NVML_DEVICE_ARCH_ADA, "ada-lovelace"),
    (NVML_DEVICE_ARCH_HOPPER, "hopper"),
    (NVML_DEVICE_ARCH_BLACKWELL, "blackwell"),
];

impl Gpu<'_> {
    /// Its facts. `index` is the one it was opened with; `sysfs` is where sysfs is mounted, which knows
    /// the NUMA node of the CPU side (NVML's own call is about the node of the GPU's memory).
    pub fn facts(&self, index: u32, sysfs: &Path) -> Result<GpuFacts, Unreadable> {
        let uuid = plausible(self.uuid()?)?;
        let pci = self.pci()?;
        let minor = call("nvmlDeviceGetMinorNumber", || self.device.minor_number())?;
        if minor > MAX_MINOR {
            return Err(Unreadable::Garbage(format!(
                "minor number {minor}, above {MAX_MINOR}"
            )));
        }
        let compute = optional(call("nvmlDeviceGetCudaComputeCapability", || {
            self.device.cuda_compute_capability()
        }))?;
        Ok(GpuFacts {
            uuid,
            index,
            minor,
            name: self.name()?,
            serial: self.serial()?,
            pci,
            numa: self.numa(sysfs, pci)?,
            cpus: self.cpus(sysfs, pci)?,
            memory: self.memory()?,
            compute: compute.map_or((0, 0), |it| (number(it.major), number(it.minor))),
            architecture: self.architecture()?,
            ecc: optional(call("nvmlDeviceGetEccMode", || {
                self.device.is_ecc_enabled()
            }))?
            .map(|mode| mode.currently_enabled),
            links: self.links()?,
            mig: self.mig()?,
            fabric: self.fabric()?,
        })
    }

    /// Its product name; that of a MIG device ends with the profile.
    pub(crate) fn name(&self) -> Result<String, Fault> {
        let mut buffer = [0; NAME_BUFFER as usize];
        let told = optional(ask!(self.library, nvmlDeviceGetName, |function| {
            // SAFETY: the handle came from the library, which is still loaded; the buffer is writable
            // and as long as its length says.
            unsafe { function(self.handle(), buffer.as_mut_ptr(), NAME_BUFFER) }
        }))?;
        Ok(told.map_or_else(String::new, |()| text(&buffer)))
    }

    fn serial(&self) -> Result<Option<String>, Fault> {
        let mut buffer = [0; SERIAL_BUFFER as usize];
        let told = optional(ask!(self.library, nvmlDeviceGetSerial, |function| {
            // SAFETY: the handle came from the library, which is still loaded; the buffer is writable
            // and as long as its length says.
            unsafe { function(self.handle(), buffer.as_mut_ptr(), SERIAL_BUFFER) }
        }))?;
        Ok(told
            .map(|()| text(&buffer))
            .filter(|serial| !serial.is_empty()))
    }

    /// Memory in bytes; 0 for a GPU that shares the machine's and says so by not supporting the call.
    pub(crate) fn memory(&self) -> Result<u64, Unreadable> {
        let told = call("nvmlDeviceGetMemoryInfo_v2", || self.device.memory_info());
        match told {
            Ok(memory) if memory.total == 0 => Err(Unreadable::Garbage(
                "a GPU with 0 bytes of memory".to_owned(),
            )),
            Ok(memory) => Ok(memory.total),
            Err(fault) => Ok(optional(Err(fault))?.unwrap_or(0)),
        }
    }

    fn architecture(&self) -> Result<String, Fault> {
        let mut architecture = 0;
        let told = optional(ask!(self.library, nvmlDeviceGetArchitecture, |function| {
            // SAFETY: the handle came from the library, which is still loaded; the number is writable.
            unsafe { function(self.handle(), &raw mut architecture) }
        }))?;
        let known = ARCHITECTURES
            .iter()
            .find(|(number, _)| told.is_some() && *number == architecture);
        Ok(known.map_or_else(String::new, |(_, name)| (*name).to_owned()))
    }

    /// NUMA node of the CPU side: what the kernel says, else what the driver says, if that is one node.
    fn numa(&self, sysfs: &Path, pci: PciAddress) -> Result<Option<u32>, Fault> {
        if let Some(node) = sysfs::numa_node(sysfs, pci) {
            return Ok(Some(node));
        }
        let mut nodes = [0; NODE_SET_WORDS];
        let length = u32::try_from(nodes.len()).unwrap_or(0);
        optional(ask!(
            self.library,
            nvmlDeviceGetMemoryAffinity,
            |function| {
                // SAFETY: the handle came from the library, which is still loaded; the buffer is writable
                // and as many words long as its length says.
                unsafe {
                    function(
                        self.handle(),
                        length,
                        nodes.as_mut_ptr(),
                        NVML_AFFINITY_SCOPE_NODE,
                    )
                }
            }
        ))?;
        Ok(sysfs::list_of(&nodes).parse().ok())
    }

    /// CPUs near it: what the kernel says, else what the driver says.
    fn cpus(&self, sysfs: &Path, pci: PciAddress) -> Result<String, Fault> {
        if let Some(cpus) = sysfs::local_cpus(sysfs, pci) {
            return Ok(cpus);
        }
        let told = optional(call("nvmlDeviceGetCpuAffinity", || {
            self.device.cpu_affinity(CPU_SET_WORDS)
        }))?;
        Ok(told.map(|words| sysfs::list_of(&words)).unwrap_or_default())
    }
}

/// Passes a UUID that can name a device.
pub(crate) fn plausible(uuid: GpuUuid) -> Result<GpuUuid, Unreadable> {
    if uuid.is_plausible() {
        Ok(uuid)
    } else {
        Err(Unreadable::Garbage(format!("{uuid:?} is no UUID")))
    }
}

fn number(signed: i32) -> u32 {
    u32::try_from(signed).unwrap_or(0)
}
