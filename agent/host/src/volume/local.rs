//! Local persistent volumes: a folder of this host that outlives pods.

use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Component, Path, PathBuf};

use k8s_openapi::api::core::v1::LocalVolumeSource;
use rustix::mount::mount_bind;

use super::{Making, VolumeError, beneath, failed, mount_program, nfs, ownership};
use crate::layout::make_folder;
use crate::mounts;

const PLUGIN: &str = "local-volume";

/// Binds the folder into the pod's, once. The mount is the last step: once it is there, the volume is
/// complete.
pub(super) fn mount(
    making: Making<'_>,
    name: &str,
    source: &LocalVolumeSource,
    options: Vec<String>,
    read_only: bool,
) -> Result<PathBuf, VolumeError> {
    let target = making.layout.volume(making.uid, PLUGIN, name);
    if beneath::is_mount_point(&target).map_err(failed("look at", &target))? {
        return Ok(target);
    }
    check(Path::new(&source.path))?;
    // Whoever made the volume may have put a link there; what it shows is the volume.
    let path = fs::canonicalize(&source.path).map_err(failed("look at", &source.path))?;
    make_folder(&target).map_err(failed("make", &target))?;
    // Another pod has it with its own group, which must stay (Kubernetes 1.37).
    if !read_only && !is_used(making, name)? {
        ownership::give_existing_to_group(making.pod, &path)
            .map_err(failed("give to the pod's group", &path))?;
    }
    mount_bind(&path, &target).map_err(failed("bind", &target))?;
    let options = nfs::joined(options, read_only.then_some("ro"));
    if !options.is_empty() {
        let options = format!("bind,remount,{options}");
        let shown = target.to_string_lossy();
        let arguments = ["-o", &options, &*source.path, &*shown];
        mount_program::run(making.mount_program, &arguments).map_err(|why| {
            nfs::undo(&target);
            VolumeError::Wrong(why)
        })?;
    }
    Ok(target)
}

fn check(path: &Path) -> Result<(), VolumeError> {
    let outside = path.components().any(|part| part == Component::ParentDir);
    if outside || !path.is_absolute() {
        return Err(VolumeError::Manifest(format!(
            "invalid path: {}: it must be absolute and must not contain '..'",
            path.display()
        )));
    }
    let found = match fs::metadata(path) {
        Ok(found) => found.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(VolumeError::NoPath(path.to_owned()));
        }
        Err(error) => return Err(failed("look at", path)(error)),
    };
    if found.is_dir() {
        Ok(())
    } else if found.is_block_device() {
        Err(VolumeError::Unknown("local block device"))
    } else {
        let text = "only directory and block device are supported";
        Err(VolumeError::Wrong(text.to_owned()))
    }
}

/// Whether another pod has the volume mounted.
fn is_used(making: Making<'_>, name: &str) -> Result<bool, VolumeError> {
    let pods = making.layout.pods();
    let pods = pods.canonicalize().map_err(failed("look at", &pods))?;
    let end: PathBuf = ["volumes", &format!("kubernetes.io~{PLUGIN}"), name]
        .iter()
        .collect();
    let all = mounts::below(&pods).map_err(failed("read the mounts below", &pods))?;
    Ok(all.iter().any(|mount| mount.point.ends_with(&end)))
}

#[cfg(test)]
mod tests;
