//! GPUs in terms of the wire.

use agent_loops::PodBoard;
use gpu_keeper::{GpuHolder, GpuSnapshot, GpuView, driver_reason, driver_words};
use gpu_model::{DriverState, Finding};
use proto::gpulet::{
    Driver, Finding as FindingMessage, Gpu, Health, Holder, ListGpusResponse, MigDevice,
    MigProfile, Process, Reading,
};

use crate::devices::pod_name;

/// All GPUs with driver and wiring.
pub(super) fn message(snapshot: &GpuSnapshot, pods: &PodBoard) -> ListGpusResponse {
    ListGpusResponse {
        gpus: snapshot
            .gpus
            .iter()
            .map(|gpu| self::gpu(gpu, pods))
            .collect(),
        driver: Some(driver(snapshot)),
        topology: topology(snapshot),
    }
}

/// The driver.
pub(super) fn driver(snapshot: &GpuSnapshot) -> Driver {
    let unknown = DriverState::Unknown;
    let state = snapshot.driver.as_ref().unwrap_or(&unknown);
    let versions = &snapshot.versions;
    Driver {
        state: state.as_str().to_owned(),
        detail: match state {
            DriverState::Ready => String::new(),
            other => format!("{}: {}", driver_reason(other), driver_words(other)),
        },
        driver_version: versions.driver.clone(),
        nvml_version: versions.nvml.clone(),
        cuda_version: match versions.cuda {
            (0, 0) => String::new(),
            (major, minor) => format!("{major}.{minor}"),
        },
        simulated: versions.simulated,
    }
}

/// Row by row in the order of the snapshot; a GPU that is not there now has no wiring.
fn topology(snapshot: &GpuSnapshot) -> Vec<String> {
    let wiring = &snapshot.topology;
    let positions: Vec<Option<usize>> = snapshot
        .gpus
        .iter()
        .map(|gpu| wiring.position(&gpu.facts.uuid))
        .collect();
    let cell = |a: &Option<usize>, b: &Option<usize>| match (a, b) {
        (Some(a), Some(b)) if a == b => "X".to_owned(),
        (Some(a), Some(b)) => wiring
            .pair(*a, *b)
            .map_or("-".to_owned(), |pair| pair.to_string()),
        _ => "-".to_owned(),
    };
    positions
        .iter()
        .flat_map(|a| positions.iter().map(move |b| cell(a, b)))
        .collect()
}

fn gpu(view: &GpuView, pods: &PodBoard) -> Gpu {
    let facts = &view.facts;
    let mig = facts.mig.as_ref();
    Gpu {
        uuid: facts.uuid.to_string(),
        index: facts.index,
        minor: facts.minor,
        name: facts.name.clone(),
        serial: facts.serial.clone().unwrap_or_default(),
        pci: facts.pci.to_string(),
        numa_node: facts
            .numa
            .and_then(|node| i32::try_from(node).ok())
            .unwrap_or(-1),
        cpus: facts.cpus.clone(),
        memory_bytes: facts.memory,
        compute_capability: format!("{}.{}", facts.compute.0, facts.compute.1),
        architecture: facts.architecture.clone(),
        device_nodes: view.nodes.clone(),
        health: Some(health(view)),
        reading: view
            .reading
            .as_ref()
            .map(|(at, reading)| self::reading(at.0, reading, pods)),
        holders: view.holders.iter().map(holder).collect(),
        mig_devices: mig
            .into_iter()
            .flat_map(|mig| &mig.devices)
            .map(mig_device)
            .collect(),
        mig_profiles: mig
            .into_iter()
            .flat_map(|mig| &mig.profiles)
            .map(mig_profile)
            .collect(),
        mig_enabled: mig.is_some_and(|mig| mig.enabled),
        links_active: facts
            .links
            .iter()
            .filter(|link| link.active)
            .count()
            .try_into()
            .unwrap_or(0),
        fabric: facts
            .fabric
            .as_ref()
            .map(|fabric| fabric.state.clone())
            .unwrap_or_default(),
    }
}

fn health(view: &GpuView) -> Health {
    let findings = view.findings.iter().map(finding);
    let since = view
        .findings
        .iter()
        .map(|finding| finding.first_seen.0)
        .min()
        .unwrap_or(0);
    Health {
        state: view.health.as_str().to_owned(),
        findings: findings.collect(),
        action: view.remedy.as_str().to_owned(),
        since,
    }
}

fn finding(finding: &Finding) -> FindingMessage {
    FindingMessage {
        cause: finding.cause.name(),
        message: finding.message.clone(),
        first_seen: finding.first_seen.0,
        last_seen: finding.last_seen.0,
        count: finding.count,
        clears: finding.how_it_clears(),
        xid: finding.cause.xid(),
    }
}

fn reading(at: i64, reading: &gpu_model::Reading, pods: &PodBoard) -> Reading {
    let rows = reading.remapped;
    Reading {
        at,
        memory_used: reading.memory_used,
        utilization: reading.utilization,
        memory_utilization: reading.memory_utilization,
        temperature: reading.temperature,
        power_milliwatts: reading.power,
        power_limit_milliwatts: reading.power_limit,
        sm_clock: reading.sm_clock,
        memory_clock: reading.memory_clock,
        ecc_corrected: reading.ecc_corrected,
        ecc_uncorrected: reading.ecc_uncorrected,
        rows_remapped: rows.map(|rows| rows.correctable.saturating_add(rows.uncorrectable)),
        remap_pending: rows.map(|rows| rows.pending),
        clock_reasons: reading.clock_reasons,
        remap_failed: rows.map(|rows| rows.failed),
        processes: reading
            .processes
            .iter()
            .map(|each| process(each, pods))
            .collect(),
    }
}

/// A process, and whose it is by the cgroup that it lives in.
fn process(process: &gpu_model::GpuProcess, pods: &PodBoard) -> Process {
    let mut message = Process {
        pid: process.pid,
        memory_bytes: process.memory,
        ..Process::default()
    };
    let owner = agent_host::owner_of_process(process.pid);
    if let Some((pod, id)) = owner.and_then(|(uid, id)| Some((pods.get(&uid)?, id))) {
        message.namespace = pod.name.namespace.to_string();
        message.pod = pod.name.name.to_string();
        let mut containers = pod.status.init.iter().chain(&pod.status.containers);
        let container = containers.find(|container| container.id.as_ref() == Some(&id));
        message.container = container
            .map(|each| each.name.to_string())
            .unwrap_or_default();
    }
    message
}

fn holder(holder: &GpuHolder) -> Holder {
    let pod = pod_name(&holder.owner);
    Holder {
        namespace: pod.namespace.to_string(),
        pod: pod.name.to_string(),
        uid: holder.owner.id.0.clone(),
        container: holder.container.clone(),
        since: holder.since.0,
        mig_uuid: holder
            .partition
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
    }
}

fn mig_profile(profile: &gpu_model::MigProfile) -> MigProfile {
    let placement = |(start, size): &(u32, u32)| format!("{start}:{size}");
    MigProfile {
        name: profile.name.clone(),
        memory_bytes: profile.memory,
        instances: profile.instances,
        placements: profile.placements.iter().map(placement).collect(),
    }
}

fn mig_device(device: &gpu_model::MigDevice) -> MigDevice {
    MigDevice {
        uuid: device.uuid.to_string(),
        profile: device.profile.clone(),
        gpu_instance: device.gpu_instance,
        compute_instance: device.compute_instance,
        memory_bytes: device.memory,
    }
}
