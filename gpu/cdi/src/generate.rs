//! From facts and files to a document.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gpu_model::{DriverFacts, GpuFacts, MigDevice};

use crate::document::{Device, DeviceNode, Document, Edits, Hook, Mount};
use crate::driver_files::{self, DriverFiles, HostFile, LIBRARY_FOLDERS};
use crate::node;
use crate::root::Root;
use crate::site::Site;

/// Kind of all devices: the one NVIDIA's device plugin uses with its `cdi-cri` strategy.
pub const KIND: &str = "k8s.device-plugin.nvidia.com/gpu";

/// Nodes of the driver as a whole, and whether CUDA cannot start without.
const COMMON_NODES: &[(&str, bool)] = &[
    ("/dev/nvidiactl", true),
    ("/dev/nvidia-uvm", true),
    ("/dev/nvidia-uvm-tools", false),
    ("/dev/nvidia-modeset", false),
];

/// Options of mounted files.
const FILE_OPTIONS: &[&str] = &["ro", "nosuid", "nodev", "rbind", "rprivate"];
/// Options of mounted sockets: a daemon is spoken to through them, so they cannot be read-only.
const SOCKET_OPTIONS: &[&str] = &["nosuid", "nodev", "rbind", "rprivate", "noexec"];

/// A document and what could not be put into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// The document.
    pub document: Document,
    /// What is missing, each with what to do. Devices that miss something of their own are left out.
    pub missing: Vec<String>,
}

/// There can be no document.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// The driver root cannot be opened.
    #[error("driver root {path} cannot be opened; is the driver installed elsewhere?")]
    Root {
        /// The folder.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// There are no driver libraries.
    #[error(
        "no libcuda.so.{version} below {root} (looked in {}); install the driver's libraries or set the driver root",
        LIBRARY_FOLDERS.join(", ")
    )]
    NoLibraries {
        /// Driver root.
        root: PathBuf,
        /// Version of the loaded driver.
        version: String,
    },
    /// There are only libraries of another version than that of the loaded driver.
    #[error(
        "the loaded driver is {version}, the libraries below {root} are of {found}; reboot, or load the driver again"
    )]
    OtherVersion {
        /// Driver root.
        root: PathBuf,
        /// Version of the loaded driver.
        version: String,
        /// Versions of the libraries.
        found: String,
    },
}

/// Name of a device of ours, as runtimes take it.
pub fn qualified_name(device: &str) -> String {
    format!("{KIND}={device}")
}

/// Makes the document for these GPUs. Each is listed by UUID and by index, a GPU in MIG mode by its
/// MIG devices only (`index:position` and UUID). Of two GPUs with one index the first has the name.
pub fn generate(
    driver: &DriverFacts,
    gpus: &[GpuFacts],
    site: &Site,
) -> Result<Generated, GenerateError> {
    let root = Root::open(&site.driver_root).map_err(|source| GenerateError::Root {
        path: site.driver_root.clone(),
        source,
    })?;
    let files = driver_files::find(&root, &driver.driver).ok_or_else(|| {
        let found = driver_files::versions(&root)
            .into_iter()
            .collect::<Vec<_>>()
            .join(", ");
        let (root, version) = (site.driver_root.clone(), driver.driver.clone());
        match found.is_empty() {
            true => GenerateError::NoLibraries { root, version },
            false => GenerateError::OtherVersion {
                root,
                version,
                found,
            },
        }
    })?;
    let mut missing = Vec::new();
    let mut document = Document {
        kind: KIND.to_owned(),
        container_edits: common_edits(site, &files, &mut missing),
        ..Document::default()
    };
    let capabilities = capabilities(site);
    for gpu in gpus {
        let tell = |what| missing.push(format!("GPU {} ({}): {what}", gpu.index, gpu.uuid));
        for device in devices(gpu, site, &capabilities, tell) {
            // Two devices of one name would make runtimes refuse the whole document.
            if document.device(&device.name).is_none() {
                document.devices.push(device);
            }
        }
    }
    document.cdi_version = document.lowest_version().to_owned();
    Ok(Generated { document, missing })
}

fn common_edits(site: &Site, files: &DriverFiles, missing: &mut Vec<String>) -> Edits {
    let mut device_nodes = Vec::new();
    for (path, needed) in COMMON_NODES {
        match node::read(site, path) {
            Ok(node) => device_nodes.push(node),
            Err(error) if *needed => missing.push(format!(
                "device node {path}: {error}; without it CUDA cannot start, nvidia-modprobe makes it"
            )),
            Err(_) => {}
        }
    }
    let mount = |options: &'static [&str]| {
        move |file: &HostFile| Mount {
            host_path: file.host.to_string_lossy().into_owned(),
            container_path: file.path.to_string_lossy().into_owned(),
            options: options.iter().map(|option| (*option).to_owned()).collect(),
            kind: None,
        }
    };
    let plain = files
        .libraries
        .iter()
        .chain(&files.others)
        .map(mount(FILE_OPTIONS));
    let mounts = plain
        .chain(files.sockets.iter().map(mount(SOCKET_OPTIONS)))
        .collect();
    let links = files
        .links
        .iter()
        .map(|(target, link)| format!("{target}::{}", link.display()));
    let folders: Vec<String> = files
        .library_folders
        .iter()
        .map(|path| path.to_string_lossy().into_owned())
        .collect();
    let main_folder = folders.first().cloned().unwrap_or_default();
    Edits {
        env: vec![
            // Keeps NVIDIA's own runtime hook from adding all GPUs, or these a second time.
            "NVIDIA_VISIBLE_DEVICES=void".to_owned(),
            format!("NVIDIA_CTK_LIBCUDA_DIR={main_folder}"),
        ],
        device_nodes,
        hooks: vec![
            hook(
                site,
                "create-symlinks",
                links.flat_map(|link| ["--link".to_owned(), link]),
            ),
            hook(
                site,
                "update-ldcache",
                folders.into_iter().flat_map(|f| ["--folder".to_owned(), f]),
            ),
        ],
        mounts,
        additional_gids: Vec::new(),
    }
}

/// The GPU under its names, or its MIG devices under theirs; what lacks a node is left out and told.
fn devices(
    gpu: &GpuFacts,
    site: &Site,
    capabilities: &BTreeMap<String, u32>,
    mut tell: impl FnMut(String),
) -> Vec<Device> {
    let path = format!("/dev/nvidia{}", gpu.minor);
    let own = match node::read(site, &path) {
        Ok(node) => node,
        Err(error) => {
            tell(format!("device node {path}: {error}"));
            return Vec::new();
        }
    };
    let named = |names: [String; 2], edits: Edits| {
        names.map(|name| Device {
            name,
            container_edits: edits.clone(),
        })
    };
    let Some(mig) = gpu.mig.as_ref().filter(|mig| mig.enabled) else {
        let names = [gpu.uuid.to_string(), gpu.index.to_string()];
        return named(names, whole_edits(gpu, own, site)).to_vec();
    };
    let mut found = Vec::new();
    for (position, device) in mig.devices.iter().enumerate() {
        match capability_nodes(gpu, device, site, capabilities) {
            Ok(nodes) => {
                let device_nodes = std::iter::once(own.clone()).chain(nodes).collect();
                let names = [device.uuid.to_string(), format!("{}:{position}", gpu.index)];
                found.extend(named(
                    names,
                    Edits {
                        device_nodes,
                        ..Edits::default()
                    },
                ));
            }
            Err(what) => tell(format!("MIG device {}: {what}", device.uuid)),
        }
    }
    found
}

/// The GPU's node, and its nodes and links for graphics if it has any.
fn whole_edits(gpu: &GpuFacts, own: DeviceNode, site: &Site) -> Edits {
    let folder = site
        .sys_root
        .join(format!("bus/pci/devices/{}/drm", gpu.pci));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    let mut edits = Edits {
        device_nodes: vec![own],
        ..Edits::default()
    };
    let mut links = Vec::new();
    for name in names {
        let kind = match () {
            () if name.starts_with("card") => "card",
            () if name.starts_with("renderD") => "render",
            () => continue,
        };
        let Ok(node) = node::read(site, &format!("/dev/dri/{name}")) else {
            continue;
        };
        edits.device_nodes.push(node);
        links.push("--link".to_owned());
        links.push(format!(
            "../{name}::/dev/dri/by-path/pci-{}-{kind}",
            gpu.pci
        ));
    }
    if !links.is_empty() {
        edits.hooks.push(hook(site, "create-symlinks", links));
    }
    edits
}

fn capability_nodes(
    gpu: &GpuFacts,
    device: &MigDevice,
    site: &Site,
    capabilities: &BTreeMap<String, u32>,
) -> Result<[DeviceNode; 2], String> {
    let instance = format!("gpu{}/gi{}", gpu.minor, device.gpu_instance);
    let node = |access: String| -> Result<DeviceNode, String> {
        let minor = capabilities
            .get(&access)
            .ok_or_else(|| format!("mig-minors has no {access}"))?;
        let path = format!("/dev/nvidia-caps/nvidia-cap{minor}");
        node::read(site, &path).map_err(|error| format!("device node {path}: {error}"))
    };
    Ok([
        node(format!("{instance}/access"))?,
        node(format!("{instance}/ci{}/access", device.compute_instance))?,
    ])
}

/// Minor numbers of MIG capabilities by name, as the driver lists them: `gpu0/gi1/ci0/access 13`.
fn capabilities(site: &Site) -> BTreeMap<String, u32> {
    let path = site.proc_root.join("driver/nvidia-caps/mig-minors");
    let text = fs::read_to_string(path).unwrap_or_default();
    let row = |line: &str| {
        let (name, minor) = line.split_once(' ')?;
        Some((name.to_owned(), minor.trim().parse().ok()?))
    };
    text.lines().filter_map(row).collect()
}

fn hook(site: &Site, verb: &str, options: impl IntoIterator<Item = String>) -> Hook {
    let path = site.hook.to_string_lossy().into_owned();
    let program = Path::new(&path)
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let args = [
        program.unwrap_or_default(),
        "cdi-hook".to_owned(),
        verb.to_owned(),
    ];
    Hook {
        hook_name: "createContainer".to_owned(),
        path,
        args: args.into_iter().chain(options).collect(),
        ..Hook::default()
    }
}

#[cfg(test)]
mod tests;
