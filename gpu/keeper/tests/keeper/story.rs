//! A keeper with a scripted probe, on a machine made of files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gpu_cdi::Site;
use gpu_keeper::{
    GpuSnapshot, GpuView, Grant, Keeper, KeeperSettings, Notice, Observed, ProbeAsk, Refusal, Seen,
};
use gpu_model::{
    Ask, DeviceKind, DriverFacts, DriverState, GpuEvent, GpuFacts, GpuUuid, HealthState, LinkPeer,
    MachineFacts, MigDevice, MigFacts, NvLink, Owner, OwnerId, PciAddress, ProbeReport, Reading,
    RecoveryAction, TopologyLevel,
};
use tokio::sync::{broadcast, mpsc};
use tokio::time::timeout;

pub(crate) const VERSION: &str = "580.95.05";
/// Longest wait for a fact. Virtual time in paused tests.
const PATIENCE: Duration = Duration::from_secs(20);

/// The files, which outlive a keeper.
pub(crate) struct Disk {
    pub(crate) folder: tempfile::TempDir,
}

pub(crate) struct Story {
    pub(crate) disk: Disk,
    pub(crate) keeper: Keeper,
    pub(crate) reports: mpsc::Sender<ProbeReport>,
    pub(crate) asks: mpsc::Receiver<ProbeAsk>,
    pub(crate) notices: broadcast::Receiver<Notice>,
}

impl Disk {
    /// A driver root and nodes for so many GPUs.
    pub(crate) fn new(gpus: u32) -> Self {
        let disk = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        disk.write(&format!(
            "driver/usr/lib/x86_64-linux-gnu/libcuda.so.{VERSION}"
        ));
        disk.write("bin/gpulet");
        disk.node("nvidiactl");
        disk.node("nvidia-uvm");
        (0..gpus).for_each(|n| disk.node(&format!("nvidia{n}")));
        fs::create_dir(disk.path("state")).unwrap();
        disk
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(crate) fn write(&self, path: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "content").unwrap();
    }

    /// A device node; which device it is does not matter here.
    pub(crate) fn node(&self, name: &str) {
        let path = self.path("host/dev").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink("/dev/null", path).unwrap();
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.path("state/gpus")
    }

    pub(crate) fn document(&self) -> PathBuf {
        self.path("cdi").join(gpu_cdi::FILE_NAME)
    }

    fn settings(&self, boot: &str) -> KeeperSettings {
        let site = Site {
            driver_root: self.path("driver"),
            dev_root: self.path("host"),
            proc_root: self.path("driver/proc"),
            sys_root: self.path("driver/sys"),
            hook: self.path("bin/gpulet"),
        };
        let (journal, cdi_folder) = (self.journal(), self.path("cdi"));
        KeeperSettings {
            journal,
            cdi_folder,
            site,
            boot: boot.to_owned(),
        }
    }
}

impl Story {
    /// A keeper that knows nothing yet.
    pub(crate) fn start(disk: Disk) -> Self {
        Self::start_in(disk, "boot-1")
    }

    pub(crate) fn start_in(disk: Disk, boot: &str) -> Self {
        let (reports, take_reports) = mpsc::channel(64);
        let (asks, take_asks) = mpsc::channel(64);
        let keeper = Keeper::start(disk.settings(boot), asks, take_reports);
        let notices = keeper.notices();
        Self {
            disk,
            keeper,
            reports,
            asks: take_asks,
            notices,
        }
    }

    /// A keeper with so many healthy GPUs and nothing running.
    pub(crate) async fn ready(gpus: u32) -> Self {
        let story = Self::start(Disk::new(gpus));
        story.bring_up(&machine(gpus)).await;
        story.keeper.adopt(Vec::new()).await;
        story
    }

    /// A driver that works, a scan, and a good reading of each GPU.
    pub(crate) async fn bring_up(&self, facts: &MachineFacts) {
        self.tell(ProbeReport::Driver(DriverState::Ready)).await;
        self.scan(facts).await;
        for gpu in &facts.gpus {
            self.tell(ProbeReport::Reading(gpu.uuid.clone(), Box::new(good())))
                .await;
        }
        let last = facts.gpus.last().map(|gpu| gpu.uuid.clone());
        self.until("every GPU is read", |snapshot| {
            let read = |gpu: &Arc<GpuView>| gpu.reading.is_some();
            snapshot
                .gpus
                .iter()
                .filter(|gpu| Some(&gpu.facts.uuid) == last.as_ref())
                .all(read)
                && (last.is_none() || !snapshot.gpus.is_empty())
        })
        .await;
    }

    pub(crate) async fn tell(&self, report: ProbeReport) {
        self.reports.send(report).await.unwrap();
    }

    pub(crate) async fn scan(&self, facts: &MachineFacts) {
        self.tell(ProbeReport::Machine(Box::new(facts.clone())))
            .await;
    }

    pub(crate) async fn xid(&self, gpu: Option<u32>, code: u64) {
        let event = GpuEvent {
            gpu: gpu.map(uuid),
            kind: 8,
            data: code,
            gpu_instance: None,
            compute_instance: None,
        };
        self.tell(ProbeReport::Event(event)).await;
    }

    pub(crate) async fn read(&self, gpu: u32, reading: Reading) {
        self.tell(ProbeReport::Reading(uuid(gpu), Box::new(reading)))
            .await;
    }

    pub(crate) async fn hold(&self, name: &str, count: usize) -> Result<Vec<GpuUuid>, Refusal> {
        let grants = self
            .keeper
            .hold(owner(name), vec![ask("main", count)])
            .await?;
        Ok(uuids(&grants))
    }

    pub(crate) async fn release(&self, name: &str) {
        self.keeper.release(owner(name).id).await;
    }

    /// Waits until the snapshot shows a fact.
    pub(crate) async fn until(
        &self,
        what: &str,
        fact: impl Fn(&GpuSnapshot) -> bool,
    ) -> Arc<GpuSnapshot> {
        let mut snapshots = self.keeper.snapshots();
        let found = timeout(PATIENCE, snapshots.wait_for(|snapshot| fact(snapshot))).await;
        match found {
            Ok(snapshot) => Arc::clone(&snapshot.unwrap()),
            Err(_) => panic!("never seen: {what}; last: {:#?}", self.snapshot()),
        }
    }

    pub(crate) async fn until_state(&self, gpu: u32, state: HealthState) -> Arc<GpuSnapshot> {
        let here = |snapshot: &GpuSnapshot| view(snapshot, gpu).is_some_and(|v| v.health == state);
        self.until(&format!("GPU {gpu} {state:?}"), here).await
    }

    pub(crate) fn snapshot(&self) -> Arc<GpuSnapshot> {
        Arc::clone(&self.keeper.snapshots().borrow())
    }

    /// Waits until the probe is asked this; other asks are passed over.
    pub(crate) async fn until_asked(&mut self, wanted: ProbeAsk) {
        let found = async { while self.asks.recv().await.as_ref() != Some(&wanted) {} };
        timeout(PATIENCE, found)
            .await
            .unwrap_or_else(|_| panic!("never asked: {wanted:?}"));
    }

    /// The next notice with this reason.
    pub(crate) async fn notice(&mut self, reason: &str) -> Notice {
        let found = async {
            loop {
                let notice = self.notices.recv().await.unwrap();
                if notice.reason == reason {
                    return notice;
                }
            }
        };
        timeout(PATIENCE, found)
            .await
            .unwrap_or_else(|_| panic!("no notice {reason}"))
    }

    /// The keeper dies with the process; the files stay.
    pub(crate) fn crash(self) -> Disk {
        self.disk
    }
}

pub(crate) fn uuid(n: u32) -> GpuUuid {
    GpuUuid::new(format!("GPU-{n}"))
}

pub(crate) fn owner(name: &str) -> Owner {
    Owner {
        id: OwnerId(format!("uid-{name}")),
        name: format!("default/{name}"),
    }
}

pub(crate) fn ask(container: &str, count: usize) -> Ask {
    Ask {
        container: container.to_owned(),
        reusable: false,
        kind: DeviceKind::Gpu,
        count,
    }
}

pub(crate) fn uuids(grants: &[Grant]) -> Vec<GpuUuid> {
    grants
        .iter()
        .flat_map(|grant| &grant.devices)
        .map(|device| device.uuid().clone())
        .collect()
}

pub(crate) fn observed(name: &str, devices: Vec<Seen>) -> Observed {
    Observed {
        owner: owner(name),
        container: "main".to_owned(),
        reusable: false,
        devices,
    }
}

pub(crate) fn view(snapshot: &GpuSnapshot, gpu: u32) -> Option<Arc<GpuView>> {
    snapshot
        .gpus
        .iter()
        .find(|view| view.facts.uuid == uuid(gpu))
        .cloned()
}

pub(crate) fn holder_names(snapshot: &GpuSnapshot, gpu: u32) -> Vec<String> {
    let holders = view(snapshot, gpu)
        .map(|view| view.holders.clone())
        .unwrap_or_default();
    holders
        .into_iter()
        .map(|holder| holder.owner.name)
        .collect()
}

pub(crate) fn good() -> Reading {
    Reading {
        recovery: Some(RecoveryAction::None),
        ecc_uncorrected: Some(0),
        ecc_corrected: Some(0),
        ..Reading::default()
    }
}

pub(crate) fn gpu(n: u32) -> GpuFacts {
    let link = |number| NvLink {
        number,
        active: true,
        peer: LinkPeer::Switch,
    };
    GpuFacts {
        uuid: uuid(n),
        index: n,
        minor: n,
        name: "NVIDIA H200".to_owned(),
        serial: None,
        pci: PciAddress {
            domain: 0,
            bus: u8::try_from(n).unwrap(),
            device: 0,
            function: 0,
        },
        numa: Some(n / 4),
        cpus: String::new(),
        memory: 141 << 30,
        compute: (9, 0),
        architecture: "hopper".to_owned(),
        ecc: Some(true),
        links: (0..18).map(link).collect(),
        mig: None,
        fabric: None,
    }
}

/// GPUs behind NVSwitches, four to a NUMA node.
pub(crate) fn machine(gpus: u32) -> MachineFacts {
    machine_of((0..gpus).map(gpu).collect())
}

pub(crate) fn machine_of(gpus: Vec<GpuFacts>) -> MachineFacts {
    let level = |a: &GpuFacts, b: &GpuFacts| match (a.uuid == b.uuid, a.numa == b.numa) {
        (true, _) => TopologyLevel::Internal,
        (false, true) => TopologyLevel::Node,
        (false, false) => TopologyLevel::System,
    };
    let levels = gpus
        .iter()
        .map(|a| gpus.iter().map(|b| level(a, b)).collect())
        .collect();
    let driver = DriverFacts {
        driver: VERSION.to_owned(),
        ..DriverFacts::default()
    };
    MachineFacts {
        driver,
        gpus,
        silent: Vec::new(),
        levels,
    }
}

/// The machine without some of its GPUs.
pub(crate) fn machine_without(gpus: u32, gone: &[u32]) -> MachineFacts {
    machine_of((0..gpus).filter(|n| !gone.contains(n)).map(gpu).collect())
}

/// A GPU in MIG mode with these GPU instances of one compute instance each.
pub(crate) fn mig_gpu(n: u32, instances: &[u32]) -> GpuFacts {
    let device = |gi: &u32| MigDevice {
        uuid: GpuUuid::new(format!("MIG-{n}-{gi}")),
        gpu_instance: *gi,
        compute_instance: 0,
        profile: "1g.18gb".to_owned(),
        memory: 16 << 30,
    };
    let devices = instances.iter().map(device).collect();
    let mig = MigFacts {
        enabled: true,
        pending: true,
        devices,
        ..MigFacts::default()
    };
    GpuFacts {
        mig: Some(mig),
        ..gpu(n)
    }
}
