//! The loaded and initialised library.

use std::ffi::c_char;
use std::path::PathBuf;

use gpu_model::DriverFacts;
use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::InitFlags;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper_sys::bindings::NvmlLib;

use crate::call::{Fault, ask, call, optional};
use crate::code::Code;
use crate::gpu::Gpu;
use crate::text::text;

/// Name under which every driver installs it.
const FILE_NAME: &str = "libnvidia-ml.so.1";

/// `NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE`, also that of the library's own version.
const VERSION_BUFFER: u32 = 80;

/// Where the library may lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// This very file and no other.
    pub file: Option<PathBuf>,
    /// Folders that are looked into first, in this order: those of a driver root that is not `/`.
    pub folders: Vec<PathBuf>,
}

impl Places {
    /// What to open: the file that was named, the first that lies in a folder, or what the dynamic
    /// loader finds under the usual name (its cache, its folders and `LD_LIBRARY_PATH`).
    fn choose(&self) -> PathBuf {
        let in_folder = || {
            self.folders
                .iter()
                .map(|folder| folder.join(FILE_NAME))
                .find(|path| path.exists())
        };
        self.file
            .clone()
            .or_else(in_folder)
            .unwrap_or_else(|| PathBuf::from(FILE_NAME))
    }

    /// The places in words, for an error.
    fn list(&self) -> String {
        match &self.file {
            Some(file) => file.display().to_string(),
            None => {
                let folders = self
                    .folders
                    .iter()
                    .map(|folder| folder.display().to_string());
                folders
                    .chain(["the folders of the dynamic loader".to_owned()])
                    .collect::<Vec<_>>()
                    .join(", ")
            }
        }
    }
}

/// Why there is no library to talk to.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It is not there, or it is no library.
    #[error("no {FILE_NAME} in {places}: {reason}")]
    Load {
        /// Places that were looked at.
        places: String,
        /// Words of the dynamic loader.
        reason: String,
    },
    /// It is there and does not start.
    #[error("{path}: {fault}")]
    Start {
        /// The library.
        path: PathBuf,
        /// What it answered.
        fault: Fault,
    },
}

/// The library, loaded and initialised. Dropping it shuts it down.
#[derive(Debug)]
pub struct Library {
    nvml: Nvml,
}

impl Library {
    /// Loads and initialises it. Needs no GPU: a driver without one is a working driver.
    pub fn open(places: &Places) -> Result<Self, OpenError> {
        let path = places.choose();
        let mut load_error = None;
        let start = call("nvmlInitWithFlags", || {
            let mut builder = Nvml::builder();
            builder.lib_path(path.as_os_str()).flags(InitFlags::NO_GPUS);
            builder.init().inspect_err(|error| {
                if let NvmlError::LibloadingError(reason) = error {
                    load_error = Some(reason.to_string());
                }
            })
        });
        match (start, load_error) {
            (Ok(nvml), _) => Ok(Self { nvml }),
            (Err(_), Some(reason)) => Err(OpenError::Load {
                places: places.list(),
                reason,
            }),
            (Err(fault), None) => Err(OpenError::Start { path, fault }),
        }
    }

    /// Versions. What is not told is empty.
    pub fn driver(&self) -> Result<DriverFacts, Fault> {
        let mut driver = [0; VERSION_BUFFER as usize];
        optional(ask!(self, nvmlSystemGetDriverVersion, |function| {
            // SAFETY: the buffer is writable and as long as its length says.
            unsafe { function(driver.as_mut_ptr(), VERSION_BUFFER) }
        }))?;
        let mut nvml = [0; VERSION_BUFFER as usize];
        optional(ask!(self, nvmlSystemGetNVMLVersion, |function| {
            // SAFETY: the buffer is writable and as long as its length says.
            unsafe { function(nvml.as_mut_ptr(), VERSION_BUFFER) }
        }))?;
        let cuda = optional(call("nvmlSystemGetCudaDriverVersion_v2", || {
            self.nvml.sys_cuda_driver_version()
        }))?;
        Ok(DriverFacts {
            driver: text(&driver),
            nvml: text(&nvml),
            cuda: cuda.map_or((0, 0), cuda_version),
            simulated: self.is_simulator(),
        })
    }

    /// Number of GPUs as the driver tells it: it may be absurd, see [`crate::MAX_GPUS`].
    pub fn count(&self) -> Result<u32, Fault> {
        call("nvmlDeviceGetCount_v2", || self.nvml.device_count())
    }

    /// The GPU at an index, which is an order only: it changes when a GPU comes or goes.
    pub fn gpu(&self, index: u32) -> Result<Gpu<'_>, Fault> {
        let device = call("nvmlDeviceGetHandleByIndex_v2", || {
            self.nvml.device_by_index(index)
        })?;
        Ok(Gpu::new(self, device))
    }

    /// All symbols; each may be missing.
    pub(crate) fn symbols(&self) -> &NvmlLib {
        self.nvml.lib()
    }

    /// Whether the library says of itself that it is a simulator, by a symbol that NVIDIA's has not.
    fn is_simulator(&self) -> bool {
        // SAFETY: the symbol is looked up and never called or read, so its type does not matter.
        unsafe {
            self.symbols()
                .__library
                .get::<*const c_char>(b"gpusim_version\0")
        }
        .is_ok()
    }
}

/// The state an error stands for.
impl From<OpenError> for gpu_model::DriverState {
    fn from(error: OpenError) -> Self {
        match &error {
            OpenError::Load { .. } => Self::NoLibrary {
                detail: error.to_string(),
            },
            OpenError::Start { fault, .. } if fault.code == Code::DRIVER_NOT_LOADED => {
                Self::NotLoaded
            }
            OpenError::Start { fault, .. } if fault.code == Code::VERSION_MISMATCH => {
                Self::VersionMismatch
            }
            OpenError::Start { fault, .. } => Self::Broken {
                code: fault.code.0,
                detail: error.to_string(),
            },
        }
    }
}

/// NVML gives 1000 x major + 10 x minor.
fn cuda_version(number: i32) -> (u32, u32) {
    let number = u32::try_from(number).unwrap_or(0);
    (number / 1000, number % 1000 / 10)
}

#[cfg(test)]
mod tests;
