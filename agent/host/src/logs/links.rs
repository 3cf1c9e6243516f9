//! Links to logs by the names of pod and container, where log collectors have always looked.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use agent_core::{ContainerId, ContainerName};
use agent_loops::ports::LogOwner;

/// Longest file name of common file systems.
const LONGEST: usize = 255;

/// Links `<pod>_<namespace>_<container>-<id>.log` in `folder` to `log`.
pub(crate) fn link(
    folder: &Path,
    pod: &LogOwner,
    container: &ContainerName,
    id: &ContainerId,
    log: &Path,
) -> io::Result<()> {
    let path = folder.join(name(pod, container, id));
    if fs::read_link(&path).is_ok_and(|present| present == log) {
        return Ok(());
    }
    crate::layout::make_log_folder(folder)?;
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    symlink(log, path)
}

/// Removes the links of a pod whose log is gone. A rotated log is gone for a moment only, until the
/// runtime has opened it anew, so this is done when logs are removed.
pub(crate) fn remove_dangling(folder: &Path, pod: &LogOwner) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let prefix = format!("{}_{}_", pod.name, pod.namespace);
    for entry in entries {
        let path: PathBuf = entry?.path();
        let own = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(&prefix));
        if own
            && fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink())
            && !path.exists()
        {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn name(pod: &LogOwner, container: &ContainerName, id: &ContainerId) -> String {
    let mut name = format!("{}_{}_{container}-{id}", pod.name, pod.namespace);
    let mut end = name.len().min(LONGEST - ".log".len());
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name.truncate(end);
    name + ".log"
}
