//! Removal of logs.

use std::fs;
use std::io;
use std::path::Path;

/// Removes the log of one instance with its rotated files: everything whose name begins with the
/// log's and goes on with a dot or ends.
pub(crate) fn of_instance(log: &Path) -> io::Result<()> {
    let (Some(folder), Some(name)) = (log.parent(), log.file_name()) else {
        return Ok(());
    };
    let name = name.to_string_lossy().into_owned();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let own = entry.file_name().to_string_lossy().into_owned();
        if own
            .strip_prefix(&name)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        {
            gone_is_fine(fs::remove_file(entry.path()))?;
        }
    }
    Ok(())
}

/// Removes the log folder of a pod: files and links one folder deep, then the folders. Anything
/// deeper is not ours and stays, which is an error.
pub(crate) fn of_pod(folder: &Path) -> io::Result<()> {
    for container in entries(folder)? {
        if fs::symlink_metadata(&container).is_ok_and(|found| found.is_dir()) {
            for file in entries(&container)? {
                gone_is_fine(fs::remove_file(file))?;
            }
            gone_is_fine(fs::remove_dir(container))?;
        } else {
            gone_is_fine(fs::remove_file(container))?;
        }
    }
    gone_is_fine(fs::remove_dir(folder))
}

fn entries(folder: &Path) -> io::Result<Vec<std::path::PathBuf>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn gone_is_fine(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
