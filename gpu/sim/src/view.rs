//! One GPU, GPU instance or compute instance within a state that does not change under the reader.

use std::ops::Deref;
use std::sync::Arc;

use crate::code::{Code, INVALID_ARGUMENT};
use crate::state::{ComputeInstance, Gpu, GpuInstance, MigProfile, State};

/// A GPU.
#[derive(Debug, Clone)]
pub(crate) struct GpuView {
    state: Arc<State>,
    position: usize,
}

/// A GPU instance.
#[derive(Debug, Clone)]
pub(crate) struct InstanceView {
    pub(crate) gpu: GpuView,
    pub(crate) instance: GpuInstance,
}

/// A compute instance, which is what a MIG device is.
#[derive(Debug, Clone)]
pub(crate) struct ComputeView {
    pub(crate) parent: InstanceView,
    pub(crate) compute: ComputeInstance,
}

/// What a device handle stands for.
#[derive(Debug, Clone)]
pub(crate) enum DeviceView {
    Gpu(GpuView),
    Mig(ComputeView),
}

impl Deref for GpuView {
    type Target = Gpu;

    fn deref(&self) -> &Gpu {
        // The position was found in this very state, which is immutable.
        &self.state.gpus[self.position]
    }
}

impl GpuView {
    pub(crate) fn find(state: Arc<State>, minor: u32) -> Option<Self> {
        let position = state.gpus.iter().position(|gpu| gpu.minor == minor)?;
        Some(Self { state, position })
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// The GPU-instance profile with this id.
    pub(crate) fn profile(&self, id: u32) -> Option<&MigProfile> {
        self.state
            .mig_profiles
            .iter()
            .find(|profile| profile.id == id)
    }
}

impl InstanceView {
    /// The instance, or an invalid argument when it was destroyed meanwhile.
    pub(crate) fn find(gpu: GpuView, serial: u64) -> Result<Self, Code> {
        let instances = gpu.mig.iter().flat_map(|mig| &mig.instances);
        let found = instances
            .into_iter()
            .find(|instance| instance.serial == serial)
            .cloned();
        let instance = found.ok_or(INVALID_ARGUMENT)?;
        Ok(Self { gpu, instance })
    }

    /// The profile it was made from; it is missing only in a state that was written by hand.
    pub(crate) fn profile(&self) -> Result<&MigProfile, Code> {
        self.gpu
            .profile(self.instance.profile)
            .ok_or(crate::code::UNKNOWN)
    }
}

impl ComputeView {
    /// The instance, or an invalid argument when it was destroyed meanwhile.
    pub(crate) fn find(gpu: GpuView, serial: u64) -> Result<Self, Code> {
        let instances = gpu.mig.iter().flat_map(|mig| &mig.instances);
        let found = instances.into_iter().find_map(|instance| {
            let compute = instance
                .compute
                .iter()
                .find(|compute| compute.serial == serial)?;
            Some((instance.clone(), compute.clone()))
        });
        let (instance, compute) = found.ok_or(INVALID_ARGUMENT)?;
        Ok(Self {
            parent: InstanceView { gpu, instance },
            compute,
        })
    }

    /// `1g.18gb`, or `1c.3g.71gb` when it has only some of the slices of its GPU instance.
    pub(crate) fn profile_name(&self) -> Result<String, Code> {
        let profile = self.parent.profile()?;
        Ok(crate::mig::compute_name(profile, self.compute.size))
    }

    /// Memory in use by the processes of its GPU instance, in bytes.
    pub(crate) fn used_memory(&self) -> u64 {
        let inside = |process: &&crate::state::Process| {
            process.gpu_instance == Some(self.parent.instance.id)
        };
        let processes = self.parent.gpu.processes.iter().filter(inside);
        processes.fold(0, |sum, process| sum.saturating_add(process.used_memory))
    }
}

impl DeviceView {
    /// The GPU, of a MIG device the one it is on.
    pub(crate) fn gpu(&self) -> &GpuView {
        match self {
            Self::Gpu(gpu) => gpu,
            Self::Mig(mig) => &mig.parent.gpu,
        }
    }
}
