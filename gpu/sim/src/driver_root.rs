//! A fake driver root: files that look like those of an installed driver to programs that search for
//! them, all small, none of them NVIDIA's.

mod elf;

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::device_nodes::mig_minors;
use crate::state::{Gpu, State};

/// Folder of the libraries, as Debian and Ubuntu have it.
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// Libraries `<name>.so.<driver version>`, each with the version of its soname.
const VERSIONED: &[(&str, &str)] = &[
    ("libcuda", "1"),
    ("libcudadebugger", "1"),
    ("libnvcuvid", "1"),
    ("libnvidia-allocator", "1"),
    ("libnvidia-cfg", "1"),
    ("libnvidia-eglcore", ""),
    ("libnvidia-encode", "1"),
    ("libnvidia-fbc", "1"),
    ("libnvidia-glcore", ""),
    ("libnvidia-glsi", ""),
    ("libnvidia-glvkspirv", ""),
    ("libnvidia-gpucomp", ""),
    ("libnvidia-ngx", "1"),
    ("libnvidia-nvvm", "4"),
    ("libnvidia-opencl", "1"),
    ("libnvidia-opticalflow", "1"),
    ("libnvidia-pkcs11-openssl3", ""),
    ("libnvidia-ptxjitcompiler", "1"),
    ("libnvidia-rtcore", ""),
    ("libnvidia-sandboxutils", "1"),
    ("libnvidia-tls", ""),
    ("libnvoptix", "1"),
    ("libEGL_nvidia", "0"),
    ("libGLESv1_CM_nvidia", "1"),
    ("libGLESv2_nvidia", "2"),
    ("libGLX_nvidia", "0"),
    ("vdpau/libvdpau_nvidia", "1"),
];

/// Links without a version, as development packages and the driver's installer make them.
const PLAIN_LINKS: &[(&str, &str)] = &[
    ("libcuda.so", "libcuda.so.1"),
    ("libnvidia-ml.so", "libnvidia-ml.so.1"),
    ("libnvidia-opticalflow.so", "libnvidia-opticalflow.so.1"),
    ("libGLX_indirect.so.0", "libGLX_nvidia.so.0"),
];

/// Programs; each only says that it is simulated.
const PROGRAMS: &[&str] = &[
    "nvidia-cuda-mps-control",
    "nvidia-cuda-mps-server",
    "nvidia-debugdump",
    "nvidia-imex",
    "nvidia-imex-ctl",
    "nvidia-persistenced",
    "nvidia-smi",
];

/// Configuration and data files, by path, with their content.
const FILES: &[(&str, &str)] = &[
    (
        "usr/share/glvnd/egl_vendor.d/10_nvidia.json",
        r#"{"file_format_version": "1.0.0", "ICD": {"library_path": "libEGL_nvidia.so.0"}}"#,
    ),
    (
        "usr/share/vulkan/icd.d/nvidia_icd.json",
        r#"{"file_format_version": "1.0.1", "ICD": {"library_path": "libGLX_nvidia.so.0", "api_version": "1.4.312"}}"#,
    ),
    (
        "usr/share/vulkan/implicit_layer.d/nvidia_layers.json",
        r#"{"file_format_version": "1.0.1", "layers": []}"#,
    ),
    (
        "usr/share/egl/egl_external_platform.d/15_nvidia_gbm.json",
        r#"{"file_format_version": "1.0.0", "ICD": {"library_path": "libnvidia-egl-gbm.so.1"}}"#,
    ),
    ("usr/share/nvidia/nvoptix.bin", "simulated"),
    ("etc/OpenCL/vendors/nvidia.icd", "libnvidia-opencl.so.1"),
];

/// Firmware files below `lib/firmware/nvidia/<driver version>`.
const FIRMWARE: &[&str] = &["gsp_ga10x.bin", "gsp_tu10x.bin"];

/// A file of the driver root could not be written.
#[derive(Debug, Error)]
#[error("cannot write {path}")]
pub struct DriverRootError {
    path: PathBuf,
    source: io::Error,
}

/// Writes a driver root for a machine. `library` is the simulated NVML, which is copied into it.
///
/// # Errors
/// A file cannot be written, or the library cannot be read.
pub fn make_driver_root(root: &Path, state: &State, library: &Path) -> Result<(), DriverRootError> {
    let version = state.node.driver_version.to_string();
    write_libraries(&root.join(LIBRARIES), &version, library)?;
    for name in PROGRAMS {
        let script = format!("#!/bin/sh\necho '{name}: simulated, driver {version}; use gpusim'\n");
        let path = root.join("usr/bin").join(name);
        write(&path, script.as_bytes())?;
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&path, executable).map_err(|source| failed(&path, source))?;
    }
    for (path, content) in FILES {
        write(&root.join(path), format!("{content}\n").as_bytes())?;
    }
    for name in FIRMWARE {
        write(
            &root.join("lib/firmware/nvidia").join(&version).join(name),
            b"simulated\n",
        )?;
    }
    write_proc(&root.join("proc/driver"), state)?;
    state
        .gpus
        .iter()
        .try_for_each(|gpu| write_sysfs(&root.join("sys/bus/pci/devices"), gpu))
}

fn write_libraries(folder: &Path, version: &str, library: &Path) -> Result<(), DriverRootError> {
    for (name, soname) in VERSIONED {
        let full = format!("{name}.so.{version}");
        let path = folder.join(&full);
        let base = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if soname.is_empty() {
            write(&path, &elf::shared_object(&base))?;
        } else {
            let link = folder.join(format!("{name}.so.{soname}"));
            let link_name = link
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            write(&path, &elf::shared_object(&link_name))?;
            point(&link, &base)?;
        }
    }
    let nvml = folder.join(format!("libnvidia-ml.so.{version}"));
    let copied = fs::read(library).map_err(|source| failed(library, source))?;
    write(&nvml, &copied)?;
    point(
        &folder.join("libnvidia-ml.so.1"),
        &format!("libnvidia-ml.so.{version}"),
    )?;
    for (link, target) in PLAIN_LINKS {
        point(&folder.join(link), target)?;
    }
    Ok(())
}

fn write_proc(driver: &Path, state: &State) -> Result<(), DriverRootError> {
    let version = &state.node.driver_version;
    let text = format!("NVRM version: NVIDIA UNIX x86_64 Kernel Module  {version}  simulated\n");
    write(&driver.join("nvidia/version"), text.as_bytes())?;
    for gpu in &state.gpus {
        let text = format!(
            "Model: \t\t {}\nIRQ:   \t\t {}\nGPU UUID: \t {}\nVideo BIOS: \t {}\nBus Type: \t PCIe\n\
             Bus Location: \t {}\nDevice Minor: \t {}\n",
            gpu.name, gpu.irq, gpu.uuid, gpu.vbios, gpu.pci.address, gpu.minor,
        );
        let folder = driver
            .join("nvidia/gpus")
            .join(gpu.pci.address.as_written());
        write(&folder.join("information"), text.as_bytes())?;
    }
    if state.mig_profiles.is_empty() {
        return Ok(());
    }
    let gpus = u32::try_from(state.gpus.len()).unwrap_or_default();
    write(
        &driver.join("nvidia-caps/mig-minors"),
        mig_minors(gpus).as_bytes(),
    )
}

fn write_sysfs(devices: &Path, gpu: &Gpu) -> Result<(), DriverRootError> {
    let folder = devices.join(gpu.pci.address.as_written());
    let (device, vendor) = (gpu.pci.device_id >> 16, gpu.pci.device_id & 0xffff);
    let files = [
        ("vendor", format!("0x{vendor:04x}\n")),
        ("device", format!("0x{device:04x}\n")),
        ("class", "0x030200\n".to_owned()),
        ("numa_node", format!("{}\n", gpu.numa_node)),
        ("local_cpulist", format!("{}\n", gpu.cpus)),
    ];
    files
        .iter()
        .try_for_each(|(name, content)| write(&folder.join(name), content.as_bytes()))
}

fn write(path: &Path, content: &[u8]) -> Result<(), DriverRootError> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)
        .and_then(|()| match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            // A library that is in use keeps its old content; a new file takes its name.
            _ => fs::write(path, content),
        })
        .map_err(|source| failed(path, source))
}

fn point(link: &Path, target: &str) -> Result<(), DriverRootError> {
    match fs::remove_file(link) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(link, error)),
        _ => symlink(target, link).map_err(|source| failed(link, source)),
    }
}

fn failed(path: &Path, source: io::Error) -> DriverRootError {
    DriverRootError {
        path: path.to_owned(),
        source,
    }
}
