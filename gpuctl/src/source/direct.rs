//! NVML itself, asked once through a child process, and judged by the agent's own rules.

use std::time::Duration;

use gpu_model::{
    DriverState, GpuFacts, GpuUuid, HealthBook, HealthEvent, Inventory, KnownGpu, MachineFacts,
    Presence, SilentGpu, Time,
};
use gpu_probe::{Look, ProbeSettings, Trouble};

use crate::record::{
    Driver, Finding, Gpu, Health, Machine, MigDevice, MigProfile, Moment, Origin, Process, Reading,
    clock_reasons,
};

/// Longest look. The probe itself gives a library 15 s to start and each call 5 s; a machine with eight
/// GPUs and no persistence daemon takes about 10 s.
const PATIENCE: Duration = Duration::from_secs(40);

/// Looks at all GPUs once. What does not answer is in the result as such.
pub(super) async fn machine(settings: ProbeSettings) -> Machine {
    judge(gpu_probe::look(settings, PATIENCE).await, Moment::now())
}

/// The probe has left out what cannot be true; what it left out is among the silent ones.
fn judge(look: Look, now: Moment) -> Machine {
    let facts = &look.machine;
    let (inventory, _) = Inventory::default().scanned(facts);
    let book = examine(&look, &inventory, Time(now.0));
    let known = facts.gpus.iter().filter_map(|gpu| inventory.gpu(&gpu.uuid));
    let mut gpus: Vec<Gpu> = known.map(|known| gpu(known, &look, &book, now)).collect();
    gpus.extend(facts.silent.iter().map(silent));
    gpus.sort_by_key(|gpu| gpu.index);
    Machine {
        source: Origin::Nvml,
        node: None,
        driver: driver(&look.driver, facts),
        gpus_expected: u32::try_from(inventory.expected()).unwrap_or(u32::MAX),
        topology: topology(&inventory, &gpus),
        problems: Vec::new(),
        gpus,
    }
}

/// The verdict that the agent would give after its first look.
fn examine(look: &Look, inventory: &Inventory, now: Time) -> HealthBook {
    let mut book = HealthBook::default();
    let mut tell = |event: HealthEvent<'_>| book = std::mem::take(&mut book).apply(event, now).0;
    for (uuid, known) in inventory.gpus() {
        tell(HealthEvent::Scanned(
            uuid,
            &known.presence,
            known.facts.fabric.as_ref(),
        ));
    }
    for (uuid, reading) in &look.readings {
        tell(HealthEvent::Reading(uuid, reading));
    }
    for (uuid, trouble) in &look.troubles {
        tell(match trouble {
            Trouble::Unresponsive(detail) => HealthEvent::Unresponsive(uuid, detail),
            Trouble::Lost(code) => HealthEvent::Lost(uuid, *code),
        });
    }
    book
}

fn driver(state: &DriverState, facts: &MachineFacts) -> Driver {
    let (major, minor) = facts.driver.cuda;
    Driver {
        state: state.as_str().to_owned(),
        detail: match state {
            DriverState::Ready => String::new(),
            _ => state.message(),
        },
        driver_version: facts.driver.driver.clone(),
        nvml_version: facts.driver.nvml.clone(),
        cuda_version: if major == 0 {
            String::new()
        } else {
            format!("{major}.{minor}")
        },
        simulated: facts.driver.simulated,
    }
}

/// In the order of `gpus`; a GPU that did not tell has no wiring.
fn topology(inventory: &Inventory, gpus: &[Gpu]) -> Vec<Vec<String>> {
    let wiring = inventory.topology();
    let place = |gpu: &Gpu| wiring.position(&GpuUuid::new(gpu.uuid.clone()));
    let places: Vec<Option<usize>> = gpus.iter().map(place).collect();
    let cell = |a: Option<usize>, b: Option<usize>| match (a, b) {
        (Some(a), Some(b)) if a == b => "X".to_owned(),
        (Some(a), Some(b)) => wiring
            .pair(a, b)
            .map_or("-".to_owned(), |pair| pair.to_string()),
        _ => "-".to_owned(),
    };
    places
        .iter()
        .map(|a| places.iter().map(|b| cell(*a, *b)).collect())
        .collect()
}

fn gpu(known: &KnownGpu, look: &Look, book: &HealthBook, now: Moment) -> Gpu {
    let GpuFacts { uuid, mig, .. } = &known.facts;
    let facts = &known.facts;
    let active = facts.links.iter().filter(|link| link.active).count();
    Gpu {
        index: facts.index,
        uuid: uuid.to_string(),
        minor: Some(facts.minor),
        name: facts.name.clone(),
        serial: facts.serial.clone().unwrap_or_default(),
        pci: facts.pci.to_string(),
        numa_node: facts.numa,
        cpus: facts.cpus.clone(),
        memory_bytes: facts.memory,
        compute_capability: format!("{}.{}", facts.compute.0, facts.compute.1),
        architecture: facts.architecture.clone(),
        // What a container gets is the agent's matter.
        device_nodes: vec![format!("/dev/nvidia{}", facts.minor)],
        mig_enabled: mig.as_ref().is_some_and(|mig| mig.enabled),
        mig_devices: mig
            .iter()
            .flat_map(|mig| &mig.devices)
            .map(MigDevice::from)
            .collect(),
        mig_profiles: mig
            .iter()
            .flat_map(|mig| &mig.profiles)
            .map(MigProfile::from)
            .collect(),
        links_active: u32::try_from(active).unwrap_or(u32::MAX),
        fabric: facts
            .fabric
            .as_ref()
            .map(|fabric| fabric.state.clone())
            .unwrap_or_default(),
        health: health(book, uuid),
        reading: look
            .readings
            .get(uuid)
            .map(|reading| self::reading(reading, now)),
        holders: None,
    }
}

/// One that was counted and did not even say who it is.
fn silent(gpu: &SilentGpu) -> Gpu {
    // As in the agent's book; only that needs a name to put it under.
    let name = gpu
        .uuid
        .clone()
        .unwrap_or_else(|| GpuUuid::new(format!("index-{}", gpu.index)));
    let presence = Presence::Silent(gpu.fault.clone());
    let event = HealthEvent::Scanned(&name, &presence, None);
    let (book, _) = HealthBook::default().apply(event, Time::default());
    Gpu {
        index: gpu.index,
        uuid: gpu
            .uuid
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        health: health(&book, &name),
        ..Gpu::default()
    }
}

fn health(book: &HealthBook, gpu: &GpuUuid) -> Health {
    Health {
        state: book.state(gpu).as_str().to_owned(),
        action: book.remedy(gpu).as_str().to_owned(),
        // One look knows no past.
        since: None,
        findings: book.findings(gpu).iter().map(Finding::from).collect(),
    }
}

fn reading(told: &gpu_model::Reading, at: Moment) -> Reading {
    let rows = told.remapped;
    Reading {
        at: Some(at),
        memory_used_bytes: told.memory_used,
        utilization_percent: told.utilization,
        memory_utilization_percent: told.memory_utilization,
        temperature_celsius: told.temperature,
        power_milliwatts: told.power,
        power_limit_milliwatts: told.power_limit,
        sm_clock_mhz: told.sm_clock,
        memory_clock_mhz: told.memory_clock,
        clock_reasons: clock_reasons(told.clock_reasons),
        ecc_corrected: told.ecc_corrected,
        ecc_uncorrected: told.ecc_uncorrected,
        rows_remapped: rows.map(|rows| rows.correctable.saturating_add(rows.uncorrectable)),
        remap_pending: rows.map(|rows| rows.pending),
        remap_failed: rows.map(|rows| rows.failed),
        processes: told.processes.iter().map(Process::from).collect(),
    }
}

impl From<&gpu_model::Finding> for Finding {
    fn from(finding: &gpu_model::Finding) -> Self {
        Self {
            cause: finding.cause.name(),
            message: finding.message.clone(),
            first_seen: None,
            last_seen: None,
            count: finding.count,
            clears: finding.how_it_clears(),
            xid: finding.cause.xid(),
        }
    }
}

impl From<&gpu_model::GpuProcess> for Process {
    fn from(process: &gpu_model::GpuProcess) -> Self {
        Self {
            pid: process.pid,
            memory_bytes: process.memory,
            ..Self::default()
        }
    }
}

impl From<&gpu_model::MigDevice> for MigDevice {
    fn from(device: &gpu_model::MigDevice) -> Self {
        Self {
            uuid: device.uuid.to_string(),
            profile: device.profile.clone(),
            gpu_instance: device.gpu_instance,
            compute_instance: device.compute_instance,
            memory_bytes: device.memory,
        }
    }
}

impl From<&gpu_model::MigProfile> for MigProfile {
    fn from(profile: &gpu_model::MigProfile) -> Self {
        let place = |(start, size): &(u32, u32)| format!("{start}:{size}");
        Self {
            name: profile.name.clone(),
            memory_bytes: profile.memory,
            instances: profile.instances,
            placements: profile.placements.iter().map(place).collect(),
        }
    }
}
