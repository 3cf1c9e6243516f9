//! Opaque handles: every handle is the address of a block of its own that nobody else uses, so a
//! wrong or stale handle is recognised without touching memory through it.

use std::collections::HashMap;

/// What a handle stands for. Handles stay valid until their target is gone, and are then never used
/// for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Handle {
    /// `nvmlDevice_t` of a GPU, by minor number.
    Gpu(u32),
    /// `nvmlDevice_t` of a MIG device, by GPU and serial of the compute instance.
    MigDevice { gpu: u32, serial: u64 },
    /// `nvmlGpuInstance_t`
    GpuInstance { gpu: u32, serial: u64 },
    /// `nvmlComputeInstance_t`
    ComputeInstance { gpu: u32, serial: u64 },
    /// `nvmlEventSet_t`
    EventSet(u64),
    /// `nvmlGpmSample_t`
    GpmSample(u64),
}

/// All handles given out by this process.
#[derive(Debug, Default)]
pub(crate) struct Handles {
    by_address: HashMap<usize, Handle>,
    by_target: HashMap<Handle, usize>,
}

/// nvidia-smi reads from device handles; what it finds there is zeros.
type Block = [u64; 8];

impl Handles {
    /// The handle of a target, always the same one.
    pub(crate) fn give<T>(&mut self, target: Handle) -> *mut T {
        let address = *self.by_target.entry(target).or_insert_with(|| {
            // Never freed: a handle that a caller kept too long must not become another's.
            let block: &'static mut Block = Box::leak(Box::default());
            let address = std::ptr::from_mut(block).expose_provenance();
            self.by_address.insert(address, target);
            address
        });
        std::ptr::with_exposed_provenance_mut(address)
    }

    /// What a handle stands for; `None` for a pointer that is no handle.
    pub(crate) fn target<T>(&self, handle: *mut T) -> Option<Handle> {
        self.by_address.get(&handle.addr()).copied()
    }

    /// Forgets a handle; its address is not used again.
    pub(crate) fn forget(&mut self, target: Handle) {
        if let Some(address) = self.by_target.remove(&target) {
            self.by_address.remove(&address);
        }
    }
}
