//! emptyDir: a folder, a file system in memory, or huge pages.

use std::ffi::CString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use agent_core::Quantity;
use k8s_openapi::api::core::v1::{EmptyDirVolumeSource, Pod};
use rustix::fs::statfs;
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use tracing::{debug, warn};

use super::{Making, VolumeError, beneath, failed, ownership};
use crate::cgroup::pod_requests;
use crate::layout::make_folder;

/// Containers run as any user, so everybody may write.
const MODE: u32 = 0o777;
/// Mode of a tmpfs of which nobody says anything.
const TMPFS_MODE: u32 = 0o1777;
/// The same for huge pages.
const HUGETLBFS_MODE: u32 = 0o755;

/// File systems that a volume is mounted from, with their type as statfs tells it.
const TMPFS: (&str, u64) = ("tmpfs", 0x0102_1994);
const HUGETLBFS: (&str, u64) = ("hugetlbfs", 0x9584_58f6);

pub(super) fn make(
    making: Making<'_>,
    name: &str,
    source: &EmptyDirVolumeSource,
) -> Result<PathBuf, VolumeError> {
    let path = making.layout.volume(making.uid, "empty-dir", name);
    if !path.exists() {
        fresh_folder(making.pod, &path)?;
    }
    match source.medium.as_deref().unwrap_or_default() {
        "" => {}
        "Memory" => {
            let limit = source.size_limit.as_ref();
            let limit = limit.and_then(|limit| limit.0.parse::<Quantity>().ok());
            let limit = limit.and_then(|limit| u64::try_from(limit.value()).ok());
            mount_memory(making, limit, &path)?;
        }
        medium => huge_pages(medium, making.pod, &path)?,
    }
    Ok(path)
}

/// Makes the folder with its mode and group in one step: once it is there, it belongs to the pod.
fn fresh_folder(pod: &Pod, path: &Path) -> Result<(), VolumeError> {
    let mut unfinished = path.as_os_str().to_owned();
    // No volume has such a name, since names of volumes have no dots.
    unfinished.push(".unfinished");
    let unfinished = PathBuf::from(unfinished);
    make_folder(&unfinished).map_err(failed("make", &unfinished))?;
    // Set apart from making it: the umask would take bits away.
    fs::set_permissions(&unfinished, fs::Permissions::from_mode(MODE))
        .map_err(failed("set the mode of", &unfinished))?;
    ownership::give_to_group(pod, &unfinished, false)
        .map_err(failed("give to the pod's group", &unfinished))?;
    fs::rename(&unfinished, path).map_err(failed("make", path))
}

/// Mounts a tmpfs that is as large as the smallest of the volume's limit in bytes, the pod's memory limit and
/// what the node has for pods; without swap where the kernel (6.4) can say so.
pub(super) fn mount_memory(
    making: Making<'_>,
    limit: Option<u64>,
    path: &Path,
) -> Result<(), VolumeError> {
    if is_mounted(path, TMPFS)? {
        return Ok(());
    }
    let bounds = [limit, Some(making.tree.memory_of(making.pod))];
    // Zero is no limit, for the API and for the kernel.
    let size = bounds
        .into_iter()
        .flatten()
        .filter(|bytes| *bytes > 0)
        .min()
        .unwrap_or(0);
    let options = format!("size={size},{}", owner(making.pod, TMPFS_MODE));
    let mounted = match mount_at(path, TMPFS, &format!("{options},noswap")) {
        Err(Errno::INVAL | Errno::PERM) => {
            warn!(path = %path.display(), "this kernel has no noswap for tmpfs; with swap on, the volume may reach the disk");
            mount_at(path, TMPFS, &options)
        }
        other => other,
    };
    mounted.map_err(failed("mount memory on", path))
}

/// Mounts huge pages of the size in the medium, or of the one size that the pod asks for.
fn huge_pages(medium: &str, pod: &Pod, path: &Path) -> Result<(), VolumeError> {
    let size = page_size(medium, pod)?;
    if is_mounted(path, HUGETLBFS)? {
        return Ok(());
    }
    let options = format!("pagesize={size},{}", owner(pod, HUGETLBFS_MODE));
    mount_at(path, HUGETLBFS, &options).map_err(failed("mount huge pages on", path))
}

fn page_size(medium: &str, pod: &Pod) -> Result<i64, VolumeError> {
    let requests = pod_requests(pod);
    let size = |name: &str| name.strip_prefix("hugepages-")?.parse::<Quantity>().ok();
    let asked: Vec<i64> = requests
        .keys()
        .filter_map(|name| size(name))
        .map(Quantity::value)
        .collect();
    let wanted = match medium.strip_prefix("HugePages-") {
        Some(size) => size.parse::<Quantity>().ok().map(Quantity::value),
        None => asked.first().filter(|_| asked.len() == 1).copied(),
    };
    wanted.filter(|size| asked.contains(size)).ok_or_else(|| {
        VolumeError::Manifest(format!(
            "emptyDir medium {medium} needs containers that request huge pages of that size, or of one \
             size if the medium names none, for instance resources.limits.hugepages-2Mi"
        ))
    })
}

/// Mount options for the pod's group, so that a mount is complete as soon as it is there.
fn owner(pod: &Pod, mode: u32) -> String {
    match ownership::group(pod) {
        Some(group) => format!(
            "gid={group},mode={:o}",
            mode | ownership::folder_bits(false)
        ),
        None => format!("mode={mode:o}"),
    }
}

fn mount_at(path: &Path, kind: (&str, u64), options: &str) -> rustix::io::Result<()> {
    debug!(path = %path.display(), kind = kind.0, options, "mounting a volume");
    let options = CString::new(options).map_err(|_| Errno::INVAL)?;
    // What the table of mounts shows as the source is the stock kubelet's word.
    let source = if kind == TMPFS { "tmpfs" } else { "nodev" };
    mount(
        source,
        path,
        kind.0,
        MountFlags::empty(),
        options.as_c_str(),
    )
}

/// Whether the volume is mounted already. The folder itself can lie on a file system of that type,
/// so the type alone says nothing.
fn is_mounted(path: &Path, (name, kind): (&str, u64)) -> Result<bool, VolumeError> {
    if !beneath::is_mount_point(path).map_err(failed("look at", path))? {
        return Ok(false);
    }
    let found = statfs(path).map_err(failed("look at", path))?;
    if u64::try_from(found.f_type) == Ok(kind) {
        return Ok(true);
    }
    let path = path.display();
    Err(VolumeError::Wrong(format!(
        "{path} has something else than {name} mounted on it; unmount it"
    )))
}

#[cfg(test)]
mod tests;
