//! Fake device nodes that follow the state: a GPU that is removed loses its node, a MIG instance that
//! is created gets its capability node.
//!
//! No driver owns these devices, so opening one fails: with `ENXIO` where the device rules of a
//! container allow it, with `EPERM` where they do not.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, chmod, makedev, mknodat};
use thiserror::Error;

use crate::state::{Majors, State};

/// Major of `nvidia`, assigned by the kernel's list of devices.
const NVIDIA: u32 = 195;

/// Minors of the nodes that stand for the driver as a whole.
const CONTROL: u32 = 255;
const MODESET: u32 = 254;

/// Majors for drivers without a fixed one are taken from here downwards, as the kernel does.
const HIGHEST_DYNAMIC: u32 = 511;
const LOWEST_DYNAMIC: u32 = 384;

/// The `nvidia-caps` minors 1 and 2 are for MIG as a whole; then come 15 GPU instances a GPU, each with
/// itself and 8 compute instances.
const FIRST_INSTANCE_MINOR: u32 = 3;
const INSTANCES_PER_GPU: u32 = 15;
const MINORS_PER_INSTANCE: u32 = 9;

/// A device node could not be made or removed.
#[derive(Debug, Error)]
#[error("cannot {action} {path}; making device nodes needs root (CAP_MKNOD)")]
pub struct NodeError {
    action: &'static str,
    path: PathBuf,
    source: io::Error,
}

/// Three majors that no driver of this machine has.
pub fn free_majors() -> Majors {
    let devices = fs::read_to_string("/proc/devices").unwrap_or_default();
    let taken: Vec<u32> = devices
        .lines()
        .filter_map(|line| line.split_whitespace().next()?.parse().ok())
        .collect();
    let mut free = (LOWEST_DYNAMIC..=HIGHEST_DYNAMIC)
        .rev()
        .filter(|major| !taken.contains(major));
    let mut next = || free.next().unwrap_or(HIGHEST_DYNAMIC);
    Majors {
        uvm: next(),
        caps: next(),
        nvswitch: next(),
    }
}

/// Minor of the capability node of a GPU instance, or of a compute instance in it.
pub(crate) fn capability_minor(gpu: u32, instance: u32, compute: Option<u32>) -> u32 {
    let of_instance = gpu
        .saturating_mul(INSTANCES_PER_GPU)
        .saturating_add(instance)
        .saturating_mul(MINORS_PER_INSTANCE)
        .saturating_add(FIRST_INSTANCE_MINOR);
    compute.map_or(of_instance, |compute| {
        of_instance.saturating_add(1).saturating_add(compute)
    })
}

/// Content of `/proc/driver/nvidia-caps/mig-minors` for so many GPUs.
pub(crate) fn mig_minors(gpus: u32) -> String {
    let mut text = String::from("config 1\nmonitor 2\n");
    for gpu in 0..gpus {
        for instance in 0..INSTANCES_PER_GPU {
            let minor = capability_minor(gpu, instance, None);
            text.push_str(&format!("gpu{gpu}/gi{instance}/access {minor}\n"));
            for compute in 0..MINORS_PER_INSTANCE - 1 {
                let minor = capability_minor(gpu, instance, Some(compute));
                text.push_str(&format!(
                    "gpu{gpu}/gi{instance}/ci{compute}/access {minor}\n"
                ));
            }
        }
    }
    text
}

/// Makes the nodes under the state's `dev_root` (if it has one) what the state says.
///
/// # Errors
/// A node cannot be made or removed.
pub fn follow(state: &State) -> Result<(), NodeError> {
    let Some(root) = &state.node.dev_root else {
        return Ok(());
    };
    let dev = root.join("dev");
    let wanted = wanted(state);
    for path in wanted.keys() {
        let folder = dev
            .join(path)
            .parent()
            .map_or(dev.clone(), Path::to_path_buf);
        fs::create_dir_all(&folder).map_err(|source| failed("create", &folder, source))?;
    }
    for folder in [dev.clone(), dev.join("nvidia-caps")] {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let known = path
                .strip_prefix(&dev)
                .is_ok_and(|path| wanted.contains_key(path));
            let ours = entry.file_name().to_string_lossy().starts_with("nvidia");
            if ours && !known && !path.is_dir() {
                fs::remove_file(&path).map_err(|source| failed("remove", &path, source))?;
            }
        }
    }
    for (path, (major, minor)) in &wanted {
        make(&dev.join(path), *major, *minor)?;
    }
    Ok(())
}

/// Paths below `/dev`, with major and minor.
fn wanted(state: &State) -> BTreeMap<PathBuf, (u32, u32)> {
    let majors = state.node.majors;
    let mut nodes = BTreeMap::new();
    let mut add = |path: String, major, minor| nodes.insert(PathBuf::from(path), (major, minor));
    add("nvidiactl".to_owned(), NVIDIA, CONTROL);
    add("nvidia-modeset".to_owned(), NVIDIA, MODESET);
    add("nvidia-uvm".to_owned(), majors.uvm, 0);
    add("nvidia-uvm-tools".to_owned(), majors.uvm, 1);
    for switch in 0..state.node.nvswitches {
        add("nvidia-nvswitchctl".to_owned(), majors.nvswitch, CONTROL);
        add(format!("nvidia-nvswitch{switch}"), majors.nvswitch, switch);
    }
    let mut capability = |minor| add(format!("nvidia-caps/nvidia-cap{minor}"), majors.caps, minor);
    if !state.mig_profiles.is_empty() {
        capability(1);
        capability(2);
    }
    for gpu in state.present() {
        for instance in gpu.mig.iter().flat_map(|mig| &mig.instances) {
            capability(capability_minor(gpu.minor, instance.id, None));
            for compute in &instance.compute {
                capability(capability_minor(gpu.minor, instance.id, Some(compute.id)));
            }
        }
    }
    for gpu in state.present() {
        add(format!("nvidia{}", gpu.minor), NVIDIA, gpu.minor);
    }
    nodes
}

fn make(path: &Path, major: u32, minor: u32) -> Result<(), NodeError> {
    let device = makedev(major, minor);
    match fs::symlink_metadata(path) {
        Ok(existing) if existing.rdev() == device => return Ok(()),
        Ok(_) => fs::remove_file(path).map_err(|source| failed("replace", path, source))?,
        Err(_) => {}
    }
    // Everybody may open the real ones; containers are kept apart by device rules.
    let mode = Mode::from_raw_mode(0o666);
    mknodat(CWD, path, FileType::CharacterDevice, mode, device)
        .and_then(|()| chmod(path, mode))
        .map_err(|errno| failed("make", path, errno.into()))
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> NodeError {
    NodeError {
        action,
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests;
