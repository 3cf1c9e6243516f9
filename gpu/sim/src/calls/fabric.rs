//! Registration of a GPU with the NVLink fabric.

use nvml_wrapper_sys::bindings::nvmlDevice_t;

use crate::abi::{Out, tag};
use crate::code::{Code, NOT_SUPPORTED};
use crate::entry::{Call, entries};
use crate::state::Fabric;
use crate::uuid;

/// Number of cliques that the fourth version has room for.
const CLIQUES: usize = 64;

/// Clique of the unicast addresses of its members.
const UNICAST: u8 = 0;

/// A clique of the fourth version (NVML 13.5); nvml-wrapper-sys has the older header.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Clique {
    kind: u8,
    id: u32,
}

/// The fourth version (NVML 13.5), which has no version tag.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct FabricInfoV4 {
    cluster_uuid: [u8; 16],
    status: u32,
    cliques: [Clique; CLIQUES],
    clique_count: u32,
    state: u8,
    health_mask: u32,
    health_summary: u8,
}

/// The state is one byte in the header and three of padding follow it; clients that take it for a
/// 32-bit number (pynvml does) find zeros there.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct FabricInfoV1 {
    cluster_uuid: [u8; 16],
    status: u32,
    clique_id: u32,
    state: u32,
}

#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct FabricInfoV2 {
    version: u32,
    first: FabricInfoV1,
    health_mask: u32,
}

#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct FabricInfoV3 {
    second: FabricInfoV2,
    health_summary: u32,
}

entries! {
    fn nvmlDeviceGetGpuFabricInfo(call, device: nvmlDevice_t, info: Out<FabricInfoV1>) {
        info.set(first_version(&fabric_of(call, device)?))
    }

    fn nvmlDeviceGetGpuFabricInfoV(call, device: nvmlDevice_t, info: Out<FabricInfoV3>) {
        let fabric = fabric_of(call, device)?;
        let version = info.tag()?;
        let first = first_version(&fabric);
        let second = FabricInfoV2 { version, first, health_mask: fabric.health_mask };
        if version == tag::<FabricInfoV2>(2) {
            return info.cast().set(second);
        }
        let health_summary = u32::from(fabric.health_summary);
        info.set_version(3, FabricInfoV3 { second, health_summary })
    }

    fn nvmlDeviceGetGpuFabricInfo_v4(call, device: nvmlDevice_t, info: Out<FabricInfoV4>) {
        let fabric = fabric_of(call, device)?;
        let mut cliques = [Clique::default(); CLIQUES];
        cliques[0] = Clique { kind: UNICAST, id: fabric.clique_id };
        info.set(FabricInfoV4 {
            cluster_uuid: uuid::to_bytes(&fabric.cluster_uuid),
            status: fabric.status,
            cliques,
            clique_count: 1,
            state: fabric.state,
            health_mask: fabric.health_mask,
            health_summary: fabric.health_summary,
        })
    }
}

fn first_version(fabric: &Fabric) -> FabricInfoV1 {
    FabricInfoV1 {
        cluster_uuid: uuid::to_bytes(&fabric.cluster_uuid),
        status: fabric.status,
        clique_id: fabric.clique_id,
        state: u32::from(fabric.state),
    }
}

fn fabric_of(call: &Call, device: nvmlDevice_t) -> Result<Fabric, Code> {
    call.gpu(device)?.fabric.clone().ok_or(NOT_SUPPORTED)
}
