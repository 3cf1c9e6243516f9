//! A driver root to test with. Device nodes are links to `/dev/null` and its like, which every machine has.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use gpu_model::{DriverFacts, GpuFacts, GpuUuid, MigDevice, MigFacts};

use crate::site::Site;

pub(crate) const VERSION: &str = "580.95.05";

pub(crate) struct Machine {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) site: Site,
}

impl Machine {
    pub(crate) fn path(&self, path: &str) -> std::path::PathBuf {
        self.folder.path().join(path)
    }

    pub(crate) fn write(&self, path: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "content").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, path: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    pub(crate) fn node(&self, path: &str) {
        self.link("/dev/null", &format!("dev-root/dev/{path}"));
    }
}

/// Two GPUs, the common nodes, and a driver root with a few files of each kind.
pub(crate) fn machine() -> Machine {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let site = Site {
        driver_root: base.join("driver"),
        dev_root: base.join("dev-root"),
        proc_root: base.join("driver/proc"),
        sys_root: base.join("driver/sys"),
        hook: base.join("bin/gpulet"),
    };
    let machine = Machine { folder, site };
    machine.write("bin/gpulet");
    let lib = "driver/usr/lib/x86_64-linux-gnu";
    for name in [
        "libcuda",
        "libnvidia-ml",
        "libGLX_nvidia",
        "vdpau/libvdpau_nvidia",
    ] {
        machine.write(&format!("{lib}/{name}.so.{VERSION}"));
    }
    machine.write(&format!("{lib}/libunrelated.so.1"));
    machine.write(&format!("{lib}/libnvidia-egl-gbm.so.1.1.2"));
    machine.link(
        format!("libcuda.so.{VERSION}"),
        &format!("{lib}/libcuda.so.1"),
    );
    machine.link("libcuda.so.1", &format!("{lib}/libcuda.so"));
    machine.link("libelsewhere.so.3", &format!("{lib}/libelsewhere.so"));
    machine.write("driver/usr/bin/nvidia-smi");
    machine.write("driver/usr/share/nvidia/nvoptix.bin");
    machine.write("driver/run/nvidia-persistenced/socket");
    machine.write(&format!(
        "driver/lib/firmware/nvidia/{VERSION}/gsp_ga10x.bin"
    ));
    for node in ["nvidiactl", "nvidia-uvm", "nvidia0", "nvidia1"] {
        machine.node(node);
    }
    machine
}

pub(crate) fn driver() -> DriverFacts {
    DriverFacts {
        driver: VERSION.to_owned(),
        ..DriverFacts::default()
    }
}

pub(crate) fn gpu(n: u32) -> GpuFacts {
    GpuFacts {
        uuid: GpuUuid::new(format!("GPU-{n}")),
        index: n,
        minor: n,
        name: "NVIDIA Test".to_owned(),
        serial: None,
        pci: format!("0000:0{n}:00.0").parse().unwrap(),
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

pub(crate) fn mig_gpu(n: u32, instances: &[(u32, u32)]) -> GpuFacts {
    let device = |(gi, ci): &(u32, u32)| MigDevice {
        uuid: GpuUuid::new(format!("MIG-{n}-{gi}-{ci}")),
        gpu_instance: *gi,
        compute_instance: *ci,
        profile: "1g.18gb".to_owned(),
        memory: 1 << 30,
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
