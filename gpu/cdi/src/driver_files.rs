//! The driver's files: what of them exists in the driver root, by tables.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use crate::root::Root;

/// Folders where distributions and installers put the driver's libraries, most specific first.
pub(crate) const LIBRARY_FOLDERS: &[&str] = &[
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib64",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu/nvidia/current",
];

/// Below the library folder: libraries of the driver's version lie in these.
const LIBRARY_SUBFOLDERS: &[&str] = &["", "vdpau"];

/// Libraries with a version of their own, by what their names begin with.
const OWN_VERSION: &[&str] = &[
    "libnvidia-nvvm70.so.",
    "libnvidia-egl-gbm.so.",
    "libnvidia-egl-wayland.so.",
    "libnvidia-egl-wayland2.so.",
    "libnvidia-egl-xcb.so.",
    "libnvidia-egl-xlib.so.",
];

/// Modules of the X server, below the library folder and below `/usr/lib`.
const XORG_FOLDERS: &[&str] = &[
    "nvidia/xorg",
    "xorg/modules/drivers",
    "xorg/modules/extensions",
];

/// Links that programs expect beside the libraries, where the host has none to copy. `{}` is the version.
const USUAL_LINKS: &[(&str, &str)] = &[
    ("libcuda.so.1", "libcuda.so.{}"),
    ("libcuda.so", "libcuda.so.1"),
    ("libnvidia-ml.so.1", "libnvidia-ml.so.{}"),
    ("libnvidia-ml.so", "libnvidia-ml.so.1"),
    (
        "libnvidia-ptxjitcompiler.so.1",
        "libnvidia-ptxjitcompiler.so.{}",
    ),
    ("libnvidia-opticalflow.so.1", "libnvidia-opticalflow.so.{}"),
    ("libnvidia-opticalflow.so", "libnvidia-opticalflow.so.1"),
    ("libGLX_indirect.so.0", "libGLX_nvidia.so.{}"),
];

/// Link by which Mesa's loader finds the driver's buffer allocation, and what it leads to, below the library folder.
const GBM_LINK: (&str, &str) = ("gbm/nvidia-drm_gbm.so", "libnvidia-allocator.so.1");

const PROGRAM_FOLDERS: &[&str] = &[
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
];

const PROGRAMS: &[&str] = &[
    "nvidia-smi",
    "nvidia-debugdump",
    "nvidia-persistenced",
    "nvidia-cuda-mps-control",
    "nvidia-cuda-mps-server",
    "nvidia-imex",
    "nvidia-imex-ctl",
];

/// Folders that may hold configuration.
const CONFIGURATION_FOLDERS: &[&str] = &["/etc", "/usr/share"];

/// Configuration of graphics and compute loaders: each is taken from the first folder that has it and shown
/// in the one where NVIDIA's container tools show it.
const CONFIGURATION: &[(&str, &str)] = &[
    ("/usr/share", "glvnd/egl_vendor.d/10_nvidia.json"),
    (
        "/usr/share",
        "egl/egl_external_platform.d/09_nvidia_wayland2.json",
    ),
    (
        "/usr/share",
        "egl/egl_external_platform.d/10_nvidia_wayland.json",
    ),
    (
        "/usr/share",
        "egl/egl_external_platform.d/15_nvidia_gbm.json",
    ),
    (
        "/usr/share",
        "egl/egl_external_platform.d/20_nvidia_xcb.json",
    ),
    (
        "/usr/share",
        "egl/egl_external_platform.d/20_nvidia_xlib.json",
    ),
    ("/usr/share", "nvidia/nvoptix.bin"),
    ("/usr/share", "X11/xorg.conf.d/10-nvidia.conf"),
    ("/usr/share", "X11/xorg.conf.d/nvidia-drm-outputclass.conf"),
    ("/etc", "OpenCL/vendors/nvidia.icd"),
    ("/etc", "vulkan/icd.d/nvidia_icd.json"),
    ("/etc", "vulkan/icd.d/nvidia_icd.x86_64.json"),
    ("/etc", "vulkan/icd.d/nvidia_icd.aarch64.json"),
    ("/etc", "vulkan/icd.d/nvidia_layers.json"),
    ("/etc", "vulkan/implicit_layer.d/nvidia_layers.json"),
];

/// Sockets of the driver's daemons.
const SOCKETS: &[&str] = &[
    "/run/nvidia-persistenced/socket",
    "/run/nvidia-fabricmanager/socket",
    "/tmp/nvidia-mps",
];

const FIRMWARE_FOLDERS: &[&str] = &["/lib/firmware/updates/nvidia", "/lib/firmware/nvidia"];

/// Names of firmware files begin with one of these.
const FIRMWARE: &[&str] = &["gsp", "ucodes"];

/// What was found. Paths are those that the container shall see; [`DriverFiles::host`] tells where they lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DriverFiles {
    /// Folders that the loader has to search, that of `libcuda` first.
    pub(crate) library_folders: Vec<PathBuf>,
    /// Libraries.
    pub(crate) libraries: Vec<HostFile>,
    /// Links beside them: target as the link names it, path of the link.
    pub(crate) links: Vec<(String, PathBuf)>,
    /// Programs, configuration, firmware.
    pub(crate) others: Vec<HostFile>,
    /// Sockets.
    pub(crate) sockets: Vec<HostFile>,
}

/// A file of the driver.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HostFile {
    /// Where the container shall see it.
    pub(crate) path: PathBuf,
    /// Where it lies.
    pub(crate) host: PathBuf,
}

/// Folders of a driver root where its libraries may lie, most specific first; for a program that loads one
/// of them itself.
pub fn library_folders(driver_root: &Path) -> Vec<PathBuf> {
    let inside = |folder: &&str| driver_root.join(folder.trim_start_matches('/'));
    LIBRARY_FOLDERS.iter().map(inside).collect()
}

/// Searches the driver root. `None` if it has no `libcuda` of this version.
pub(crate) fn find(root: &Root, version: &str) -> Option<DriverFiles> {
    let cuda = format!("libcuda.so.{version}");
    let mut folders = LIBRARY_FOLDERS.iter().map(Path::new);
    let library_folder = folders.find(|folder| is_file(root, &folder.join(&cuda)))?;
    let libraries = libraries(root, library_folder, version);
    let others = [programs(root), configuration(root), firmware(root, version)].concat();
    Some(DriverFiles {
        links: links(root, library_folder, &libraries, version),
        library_folders: searched(library_folder, &libraries),
        libraries,
        others,
        sockets: SOCKETS
            .iter()
            .filter_map(|path| host_file(root, Path::new(path)))
            .collect(),
    })
}

/// Versions of `libcuda` that lie in the driver root, for the message when the right one does not.
pub(crate) fn versions(root: &Root) -> BTreeSet<String> {
    let all = LIBRARY_FOLDERS
        .iter()
        .flat_map(|folder| list(root, Path::new(folder)));
    let version = |name: OsString| {
        let version = name.to_str()?.strip_prefix("libcuda.so.")?.to_owned();
        version.contains('.').then_some(version)
    };
    all.filter_map(version).collect()
}

fn libraries(root: &Root, folder: &Path, version: &str) -> Vec<HostFile> {
    let suffix = format!(".so.{version}");
    let ours = |name: &str| {
        name.ends_with(&suffix) || OWN_VERSION.iter().any(|start| name.starts_with(start))
    };
    let mut paths: Vec<PathBuf> = Vec::new();
    for folder in LIBRARY_SUBFOLDERS.iter().map(|sub| folder.join(sub)) {
        let names = list(root, &folder)
            .into_iter()
            .filter(|n| n.to_str().is_some_and(ours));
        paths.extend(
            names
                .map(|name| folder.join(name))
                .filter(|path| is_plain_file(root, path)),
        );
    }
    let server = [
        format!("libglxserver_nvidia{suffix}"),
        "nvidia_drv.so".to_owned(),
    ];
    for above in [folder, Path::new("/usr/lib")] {
        let folders = XORG_FOLDERS.iter().map(|sub| above.join(sub));
        paths.extend(folders.flat_map(|folder| server.each_ref().map(|name| folder.join(name))));
    }
    let mut files: Vec<_> = paths
        .iter()
        .filter_map(|path| host_file(root, path))
        .collect();
    files.sort();
    files.dedup_by(|a, b| a.host == b.host);
    files
}

/// Links of the host that lead to one of the libraries, then the usual ones that it lacks.
fn links(
    root: &Root,
    folder: &Path,
    libraries: &[HostFile],
    version: &str,
) -> Vec<(String, PathBuf)> {
    let mut known: BTreeSet<PathBuf> = libraries.iter().map(|file| file.path.clone()).collect();
    let mut links = Vec::new();
    let mut candidates = Vec::new();
    for folder in LIBRARY_SUBFOLDERS.iter().map(|sub| folder.join(sub)) {
        for name in list(root, &folder) {
            let Ok(target) = read_link(root, &folder, &name) else {
                continue;
            };
            let Some(target) = target
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
            else {
                continue;
            };
            candidates.push((target, folder.join(name)));
        }
    }
    let usual = USUAL_LINKS
        .iter()
        .map(|(link, target)| (target.replace("{}", version), folder.join(link)));
    candidates.extend(usual);
    // A link may lead to another link that is found later, so this is repeated until nothing is added.
    loop {
        let before = links.len();
        for (target, link) in &candidates {
            let leads_to = link.with_file_name(target);
            if known.contains(&leads_to) && known.insert(link.clone()) {
                links.push((target.clone(), link.clone()));
            }
        }
        if links.len() == before {
            break;
        }
    }
    let (link, leads_to) = GBM_LINK;
    if known.contains(&folder.join(leads_to)) {
        links.push((format!("../{leads_to}"), folder.join(link)));
    }
    links
}

/// The library folder and those of its subfolders that have a library.
fn searched(folder: &Path, libraries: &[HostFile]) -> Vec<PathBuf> {
    let folders = LIBRARY_SUBFOLDERS.iter().map(|sub| match *sub {
        "" => folder.to_owned(),
        sub => folder.join(sub),
    });
    let used = |folder: &PathBuf| {
        libraries
            .iter()
            .any(|library| library.path.parent() == Some(folder.as_path()))
    };
    folders.filter(used).collect()
}

fn programs(root: &Root) -> Vec<HostFile> {
    let first = |name: &&str| {
        PROGRAM_FOLDERS
            .iter()
            .find_map(|folder| host_file(root, &Path::new(folder).join(name)))
    };
    PROGRAMS.iter().filter_map(first).collect()
}

fn configuration(root: &Root) -> Vec<HostFile> {
    let first = |(shown, name): &(&str, &str)| {
        let mut folders = CONFIGURATION_FOLDERS
            .iter()
            .map(|folder| Path::new(folder).join(name));
        let host = folders.find_map(|path| root.outside(&path).ok())?;
        Some(HostFile {
            path: Path::new(shown).join(name),
            host,
        })
    };
    CONFIGURATION.iter().filter_map(first).collect()
}

fn firmware(root: &Root, version: &str) -> Vec<HostFile> {
    let ours = |name: &OsString| {
        let name = name.to_string_lossy();
        name.ends_with(".bin") && FIRMWARE.iter().any(|start| name.starts_with(start))
    };
    let folders = FIRMWARE_FOLDERS
        .iter()
        .map(|folder| Path::new(folder).join(version));
    let all = folders.map(|folder| {
        let names = list(root, &folder).into_iter().filter(ours);
        names
            .filter_map(|name| host_file(root, &folder.join(name)))
            .collect::<Vec<_>>()
    });
    all.into_iter()
        .find(|files| !files.is_empty())
        .unwrap_or_default()
}

fn host_file(root: &Root, path: &Path) -> Option<HostFile> {
    Some(HostFile {
        path: path.to_owned(),
        host: root.outside(path).ok()?,
    })
}

fn is_file(root: &Root, path: &Path) -> bool {
    root.find(path)
        .is_ok_and(|found| found.kind == FileType::RegularFile)
}

/// A file of its own, not a link to one.
fn is_plain_file(root: &Root, path: &Path) -> bool {
    let Some((folder, name)) = path.parent().zip(path.file_name()) else {
        return false;
    };
    is_file(root, path) && read_link(root, folder, name).is_err()
}

fn read_link(root: &Root, folder: &Path, name: impl AsRef<Path>) -> std::io::Result<PathBuf> {
    fs::read_link(root.outside(folder)?.join(name))
}

/// Names in a folder, sorted; none if there is no such folder.
fn list(root: &Root, folder: &Path) -> Vec<OsString> {
    let entries = root
        .outside(folder)
        .and_then(fs::read_dir)
        .into_iter()
        .flatten();
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    names
}
