//! MIG: the devices that exist and the GPU instances that could be made.

use std::ptr;

use gpu_model::{MigDevice, MigFacts, MigProfile};
use nvml_wrapper_sys::bindings::{
    NVML_GPU_INSTANCE_PROFILE_COUNT, nvmlGpuInstanceInfo_t, nvmlGpuInstancePlacement_t,
    nvmlGpuInstanceProfileInfo_v2_t,
};

use crate::call::{Fault, ask, call, optional};
use crate::fabric::tag;
use crate::facts::plausible;
use crate::gpu::{Gpu, Unreadable};
use crate::text::text;

/// MIG devices of one GPU that are looked at. A GPU has 7 compute slices and up to 8 compute instances;
/// more is garbage.
const MAX_MIG_DEVICES: u32 = 64;

/// Placements of one profile that are believed. There are 8 memory slices; more is garbage.
const MAX_PLACEMENTS: usize = 64;

const MEBIBYTE: u64 = 1 << 20;

impl Gpu<'_> {
    /// MIG state; `None` for a GPU that cannot do MIG.
    pub(crate) fn mig(&self) -> Result<Option<MigFacts>, Unreadable> {
        let Some(mode) = optional(call("nvmlDeviceGetMigMode", || self.device.mig_mode()))? else {
            return Ok(None);
        };
        let enabled = mode.current == 1;
        let profiles = self.mig_profiles()?;
        let devices = if enabled {
            self.mig_devices(&profiles)?
        } else {
            Vec::new()
        };
        Ok(Some(MigFacts {
            enabled,
            pending: mode.pending == 1,
            devices,
            profiles,
        }))
    }

    fn mig_devices(&self, profiles: &[MigProfile]) -> Result<Vec<MigDevice>, Unreadable> {
        let count = optional(call("nvmlDeviceGetMaxMigDeviceCount", || {
            self.device.mig_device_count()
        }))?;
        let mut devices = Vec::new();
        for index in 0..count.unwrap_or(0).min(MAX_MIG_DEVICES) {
            let handle = call("nvmlDeviceGetMigDeviceHandleByIndex", || {
                self.device.mig_device_by_index(index)
            });
            match handle {
                Ok(device) => {
                    let device = Gpu::new(self.library, device);
                    devices.push(self.mig_device(&device, profiles)?);
                }
                // The numbering has holes.
                Err(fault) => drop(optional(Err::<(), _>(fault))?),
            }
        }
        Ok(devices)
    }

    fn mig_device(
        &self,
        device: &Gpu<'_>,
        profiles: &[MigProfile],
    ) -> Result<MigDevice, Unreadable> {
        let mut gpu_instance = 0;
        ask!(self.library, nvmlDeviceGetGpuInstanceId, |function| {
            // SAFETY: the handle came from the library, which is still loaded; the number is writable.
            unsafe { function(device.handle(), &raw mut gpu_instance) }
        })?;
        let mut compute_instance = 0;
        ask!(self.library, nvmlDeviceGetComputeInstanceId, |function| {
            // SAFETY: the handle came from the library, which is still loaded; the number is writable.
            unsafe { function(device.handle(), &raw mut compute_instance) }
        })?;
        let profile = match device.name()?.rsplit_once("MIG ") {
            Some((_, profile)) => profile.to_owned(),
            None => self.profile_of(gpu_instance, profiles)?,
        };
        Ok(MigDevice {
            uuid: plausible(device.uuid()?)?,
            gpu_instance,
            compute_instance,
            profile,
            memory: device.memory()?,
        })
    }

    /// The profile of a GPU instance by what it was made from; empty when the driver does not tell.
    fn profile_of(&self, gpu_instance: u32, profiles: &[MigProfile]) -> Result<String, Fault> {
        let mut instance = ptr::null_mut();
        let found = optional(ask!(
            self.library,
            nvmlDeviceGetGpuInstanceById,
            |function| {
                // SAFETY: the handle came from the library, which is still loaded; the pointer is writable.
                unsafe { function(self.handle(), gpu_instance, &raw mut instance) }
            }
        ))?;
        let mut info = nvmlGpuInstanceInfo_t {
            device: ptr::null_mut(),
            id: 0,
            profileId: u32::MAX,
            placement: nvmlGpuInstancePlacement_t { start: 0, size: 0 },
        };
        if found.is_some() {
            optional(ask!(self.library, nvmlGpuInstanceGetInfo, |function| {
                // SAFETY: the library has just given this instance; the structure is that of the call.
                unsafe { function(instance, &raw mut info) }
            }))?;
        }
        let known = profiles.iter().find(|profile| profile.id == info.profileId);
        Ok(known
            .map(|profile| profile.name.clone())
            .unwrap_or_default())
    }

    fn mig_profiles(&self) -> Result<Vec<MigProfile>, Fault> {
        let mut profiles = Vec::new();
        for number in 0..NVML_GPU_INSTANCE_PROFILE_COUNT {
            let mut info = empty_profile_info();
            let told = ask!(
                self.library,
                nvmlDeviceGetGpuInstanceProfileInfoV,
                |function| {
                    // SAFETY: the handle came from the library, which is still loaded; the structure is as
                    // long as the size in its version field says.
                    unsafe { function(self.handle(), number, &raw mut info) }
                }
            );
            if optional(told)?.is_some() {
                profiles.push(MigProfile {
                    id: info.id,
                    name: text(&info.name).trim_start_matches("MIG ").to_owned(),
                    memory: info.memorySizeMB.saturating_mul(MEBIBYTE),
                    instances: info.instanceCount,
                    placements: self.placements(info.id)?,
                });
            }
        }
        Ok(profiles)
    }

    /// Where an instance of a profile may lie. `nvml-wrapper` has this call, but always gives an empty
    /// list.
    fn placements(&self, profile: u32) -> Result<Vec<(u32, u32)>, Fault> {
        let mut count = 0;
        let counted = ask!(
            self.library,
            nvmlDeviceGetGpuInstancePossiblePlacements_v2,
            |function| {
                // SAFETY: the handle came from the library, which is still loaded; without a buffer the call
                // only counts.
                unsafe { function(self.handle(), profile, ptr::null_mut(), &raw mut count) }
            }
        );
        let fits = usize::try_from(count).is_ok_and(|count| count <= MAX_PLACEMENTS);
        if optional(counted)?.is_none() || !fits {
            return Ok(Vec::new());
        }
        let mut buffer = [nvmlGpuInstancePlacement_t { start: 0, size: 0 }; MAX_PLACEMENTS];
        let told = ask!(
            self.library,
            nvmlDeviceGetGpuInstancePossiblePlacements_v2,
            |function| {
                // SAFETY: the handle came from the library, which is still loaded; the buffer has room for
                // more entries than the call has just counted.
                unsafe { function(self.handle(), profile, buffer.as_mut_ptr(), &raw mut count) }
            }
        );
        let length = optional(told)?
            .and_then(|()| usize::try_from(count).ok())
            .unwrap_or(0);
        Ok(buffer
            .iter()
            .take(length)
            .map(|it| (it.start, it.size))
            .collect())
    }
}

fn empty_profile_info() -> nvmlGpuInstanceProfileInfo_v2_t {
    nvmlGpuInstanceProfileInfo_v2_t {
        version: tag::<nvmlGpuInstanceProfileInfo_v2_t>(2),
        id: 0,
        isP2pSupported: 0,
        sliceCount: 0,
        instanceCount: 0,
        multiprocessorCount: 0,
        copyEngineCount: 0,
        decoderCount: 0,
        encoderCount: 0,
        jpegCount: 0,
        ofaCount: 0,
        memorySizeMB: 0,
        name: [0; 96],
    }
}
