//! Where a GPU is: near which CPUs, memory and other GPUs.

use std::ffi::c_ulong;

use nvml_wrapper_sys::bindings::nvmlDevice_t;

use crate::abi::Out;
use crate::code::{Answer, INVALID_ARGUMENT, NOT_SUPPORTED};
use crate::entry::entries;
use crate::handles::Handle;
use crate::process;
use crate::state::{RemoteKind, State};
use crate::view::GpuView;

/// `nvmlGpuTopologyLevel_t` by the names of `nvidia-smi topo -m`.
const LEVELS: &[(&str, u32)] = &[
    ("X", 0),
    ("PIX", 10),
    ("PXB", 20),
    ("PHB", 30),
    ("NODE", 40),
    ("SYS", 50),
];

/// More CPUs or nodes than any machine has; a wrong number must take neither all memory nor all time.
const MOST_CPUS: u32 = 64 * 1024;

/// `nvmlGpuP2PCapsIndex_t`
const P2P_NVLINK: u32 = 2;
const P2P_LAST: u32 = 4;
/// `nvmlGpuP2PStatus_t`
const P2P_OK: u32 = 0;
const P2P_NOT_SUPPORTED: u32 = 5;

entries! {
    fn nvmlDeviceGetTopologyCommonAncestor(call, first: nvmlDevice_t, second: nvmlDevice_t, level: Out<u32>) {
        let (first, second) = (call.gpu(first)?, call.gpu(second)?);
        level.set(level_between(second.state(), first.minor, second.minor).ok_or(NOT_SUPPORTED)?)
    }

    fn nvmlDeviceGetTopologyNearestGpus(call, device: nvmlDevice_t, level: u32, count: Out<u32>, devices: Out<nvmlDevice_t>) {
        let gpu = call.gpu(device)?;
        let others = gpu.state().present().map(|other| other.minor).filter(|other| *other != gpu.minor);
        let near = others.filter(|other| level_between(gpu.state(), gpu.minor, *other) == Some(level));
        let near: Vec<nvmlDevice_t> = process::with(|process| {
            near.map(|minor| process.handle(Handle::Gpu(minor))).collect()
        });
        let room = usize::try_from(count.get()?).unwrap_or(usize::MAX);
        count.set(u32::try_from(near.len()).unwrap_or(u32::MAX))?;
        if room == 0 { Ok(()) } else { devices.fill(near.get(..room).unwrap_or(&near)) }
    }

    fn nvmlDeviceGetP2PStatus(call, first: nvmlDevice_t, second: nvmlDevice_t, capability: u32, status: Out<u32>) {
        let (first, second) = (call.gpu(first)?, call.gpu(second)?);
        let possible = match capability {
            _ if first.in_mig_mode() || second.in_mig_mode() => false,
            P2P_NVLINK => linked(&first, &second),
            0..=P2P_LAST => true,
            _ => return Err(INVALID_ARGUMENT),
        };
        status.set(if possible { P2P_OK } else { P2P_NOT_SUPPORTED })
    }

    /// The NUMA node that the GPU's own memory forms; without coherent memory there is none.
    fn nvmlDeviceGetNumaNodeId(call, device: nvmlDevice_t, node: Out<u32>) {
        node.set(call.gpu(device)?.memory_numa_node.ok_or(NOT_SUPPORTED)?)
    }

    fn nvmlDeviceGetMemoryAffinity(call, device: nvmlDevice_t, words: u32, nodes: Out<c_ulong>, scope: u32) {
        check_scope(scope)?;
        mask(words, nodes, [call.gpu(device)?.numa_node])
    }

    fn nvmlDeviceGetCpuAffinity(call, device: nvmlDevice_t, words: u32, cpus: Out<c_ulong>) {
        mask(words, cpus, cpu_list(&call.gpu(device)?.cpus))
    }

    fn nvmlDeviceGetCpuAffinityWithinScope(call, device: nvmlDevice_t, words: u32, cpus: Out<c_ulong>, scope: u32) {
        check_scope(scope)?;
        mask(words, cpus, cpu_list(&call.gpu(device)?.cpus))
    }
}

fn level_between(state: &State, from: u32, to: u32) -> Option<u32> {
    let name = state.distance(from, to)?;
    LEVELS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, level)| *level)
}

/// Whether NVLink joins two GPUs, directly or through switches.
fn linked(first: &GpuView, second: &GpuView) -> bool {
    let to_switch = |gpu: &GpuView| {
        gpu.nvlinks
            .iter()
            .any(|link| link.active && link.remote == RemoteKind::Switch)
    };
    let target = super::pci::parse(second.pci.address.as_written());
    let direct = first.nvlinks.iter().any(|link| {
        let remote = super::pci::parse(link.remote_pci.as_written());
        link.active && link.remote == RemoteKind::Gpu && remote == target
    });
    direct || (to_switch(first) && to_switch(second))
}

/// Scopes: NUMA node 0, socket 1. The simulated machines tell both alike.
fn check_scope(scope: u32) -> Answer {
    if scope > 1 {
        Err(INVALID_ARGUMENT)
    } else {
        Ok(())
    }
}

/// Writes a bit mask of `words` unsigned longs; bits beyond it are left out, as by NVML.
fn mask(words: u32, place: Out<c_ulong>, bits: impl IntoIterator<Item = u32>) -> Answer {
    if words == 0 || place.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    let words = words.min(MOST_CPUS / c_ulong::BITS);
    let mut values: Vec<c_ulong> = vec![0; usize::try_from(words).unwrap_or_default()];
    for bit in bits {
        let word = usize::try_from(bit / c_ulong::BITS).unwrap_or(usize::MAX);
        if let Some(value) = values.get_mut(word) {
            *value |= 1 << (bit % c_ulong::BITS);
        }
    }
    place.fill(&values)
}

/// The CPUs of a list such as `0-55,112-167`; what is no number, or no CPU that a machine could
/// have, is left out.
fn cpu_list(text: &str) -> impl Iterator<Item = u32> {
    text.split(',').flat_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let range = first.trim().parse().ok().zip(last.trim().parse().ok());
        let range = range.map(|(first, last): (u32, u32)| first..=last.min(MOST_CPUS - 1));
        range.into_iter().flatten()
    })
}

#[cfg(test)]
mod tests;
