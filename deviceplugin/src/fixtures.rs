//! A keeper with a scripted probe, on a machine made of files.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use gpu_cdi::Site;
use gpu_keeper::{GpuSnapshot, Keeper, KeeperSettings, ProbeAsk};
use gpu_model::{
    DriverFacts, DriverState, GpuFacts, GpuUuid, MachineFacts, MigDevice, MigFacts, PciAddress,
    ProbeReport,
};
use tokio::sync::mpsc;

const VERSION: &str = "580.95.05";

/// Everything that a keeper needs to stay alive.
pub(crate) struct Machine {
    pub(crate) keeper: Keeper,
    pub(crate) reports: mpsc::Sender<ProbeReport>,
    _asks: mpsc::Receiver<ProbeAsk>,
    _folder: tempfile::TempDir,
}

impl Machine {
    /// A machine with these GPUs, all read and well, and nothing running.
    pub(crate) async fn with(gpus: Vec<GpuFacts>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let library = path(&format!("usr/lib64/libcuda.so.{VERSION}"));
        fs::create_dir_all(library.parent().unwrap()).unwrap();
        fs::write(library, "").unwrap();
        fs::create_dir_all(path("dev/nvidia-caps")).unwrap();
        fs::create_dir_all(path("proc/driver/nvidia-caps")).unwrap();
        fs::write(path("gpulet"), "").unwrap();
        let caps = (0..4).flat_map(|gpu| (0..4).map(move |gi| (gpu, gi)));
        let mut minors = String::new();
        for (n, (gpu, gi)) in caps.enumerate() {
            minors += &format!("gpu{gpu}/gi{gi}/access {n}\ngpu{gpu}/gi{gi}/ci0/access {n}\n");
            symlink("/dev/null", path(&format!("dev/nvidia-caps/nvidia-cap{n}"))).unwrap();
        }
        fs::write(path("proc/driver/nvidia-caps/mig-minors"), minors).unwrap();
        for name in [
            "nvidiactl",
            "nvidia-uvm",
            "nvidia0",
            "nvidia1",
            "nvidia2",
            "nvidia3",
        ] {
            symlink("/dev/null", path("dev").join(name)).unwrap();
        }
        let site = Site {
            driver_root: path(""),
            dev_root: path(""),
            proc_root: path("proc"),
            sys_root: path("sys"),
            hook: path("gpulet"),
        };
        let settings = KeeperSettings {
            journal: path("journal"),
            cdi_folder: path("cdi"),
            site,
            boot: "boot".to_owned(),
        };
        let (asks, take_asks) = mpsc::channel(64);
        let (reports, take_reports) = mpsc::channel(64);
        let keeper = Keeper::start(settings, asks, take_reports);
        let machine = Self {
            keeper,
            reports,
            _asks: take_asks,
            _folder: folder,
        };
        machine.bring_up(gpus).await;
        machine
    }

    async fn bring_up(&self, gpus: Vec<GpuFacts>) {
        self.reports
            .send(ProbeReport::Driver(DriverState::Ready))
            .await
            .unwrap();
        let driver = DriverFacts {
            driver: VERSION.to_owned(),
            ..DriverFacts::default()
        };
        let names: Vec<GpuUuid> = gpus.iter().map(|gpu| gpu.uuid.clone()).collect();
        let facts = MachineFacts {
            driver,
            gpus,
            ..MachineFacts::default()
        };
        self.reports
            .send(ProbeReport::Machine(Box::new(facts)))
            .await
            .unwrap();
        for name in &names {
            let reading = ProbeReport::Reading(name.clone(), Box::default());
            self.reports.send(reading).await.unwrap();
        }
        self.until(|snapshot| {
            snapshot.gpus.len() == names.len() && snapshot.gpus.iter().all(|g| g.reading.is_some())
        })
        .await;
        self.keeper.adopt(Vec::new()).await;
    }

    /// Waits until the snapshot shows a fact.
    pub(crate) async fn until(&self, fact: impl Fn(&GpuSnapshot) -> bool) -> Arc<GpuSnapshot> {
        let mut snapshots = self.keeper.snapshots();
        let found = snapshots.wait_for(|snapshot| fact(snapshot));
        let found = tokio::time::timeout(std::time::Duration::from_secs(20), found).await;
        Arc::clone(&found.expect("the fact was never seen").unwrap())
    }
}

pub(crate) fn gpu(n: u32) -> GpuFacts {
    GpuFacts {
        uuid: GpuUuid::new(format!("GPU-{n}")),
        index: n,
        minor: n,
        name: "NVIDIA Test".to_owned(),
        serial: None,
        pci: PciAddress {
            domain: n,
            bus: 1,
            device: 0,
            function: 0,
        },
        numa: None,
        cpus: String::new(),
        memory: 1 << 30,
        compute: (9, 0),
        architecture: "hopper".to_owned(),
        ecc: None,
        links: Vec::new(),
        mig: None,
        fabric: None,
    }
}

/// A GPU in MIG mode with one instance of each profile.
pub(crate) fn mig_gpu(n: u32, profiles: &[&str]) -> GpuFacts {
    let device = |(gi, profile): (u32, &&str)| MigDevice {
        uuid: GpuUuid::new(format!("MIG-{n}-{gi}")),
        gpu_instance: gi,
        compute_instance: 0,
        profile: (*profile).to_owned(),
        memory: 1 << 30,
    };
    let devices = (0..).zip(profiles).map(device).collect();
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
