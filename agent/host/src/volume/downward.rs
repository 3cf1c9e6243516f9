//! downwardAPI and projected volumes: fields of the pod as files.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use k8s_openapi::api::core::v1::{
    DownwardAPIVolumeFile, DownwardAPIVolumeSource, ProjectedVolumeSource,
};

use super::atomic::{self, File, Files};
use super::{Making, VolumeError, failed, fields, nested, ownership};
use crate::layout::make_folder;

/// Mode of files whose manifest says nothing.
const FILE_MODE: i32 = 0o644;
/// Mode of the volume: containers run as any user, and read.
const FOLDER_MODE: u32 = 0o755;

pub(super) fn make(
    making: Making<'_>,
    name: &str,
    source: &DownwardAPIVolumeSource,
) -> Result<PathBuf, VolumeError> {
    let mut files = Files::new();
    let mode = source.default_mode.unwrap_or(FILE_MODE);
    collect(
        making,
        source.items.as_deref().unwrap_or_default(),
        mode,
        &mut files,
    )?;
    write(making, "downward-api", name, &files)
}

/// Of the sources of a projected volume only the downward API: the others need a control plane.
pub(super) fn make_projected(
    making: Making<'_>,
    name: &str,
    source: &ProjectedVolumeSource,
) -> Result<PathBuf, VolumeError> {
    let mut files = Files::new();
    let mode = source.default_mode.unwrap_or(FILE_MODE);
    for part in source.sources.iter().flatten() {
        let Some(api) = &part.downward_api else {
            return Err(VolumeError::Unknown(name.to_owned()));
        };
        collect(
            making,
            api.items.as_deref().unwrap_or_default(),
            mode,
            &mut files,
        )?;
    }
    write(making, "projected", name, &files)
}

fn collect(
    making: Making<'_>,
    items: &[DownwardAPIVolumeFile],
    default_mode: i32,
    files: &mut Files,
) -> Result<(), VolumeError> {
    for item in items {
        let wrong = |what: &str| {
            VolumeError::Manifest(format!(
                "file {:?} of a downwardAPI volume {what}",
                item.path
            ))
        };
        let text = match (&item.field_ref, &item.resource_field_ref) {
            (Some(field), _) => fields::of_metadata(making.pod, &field.field_path),
            (None, Some(resource)) => fields::of_resource(making.pod, "", resource, making.tree),
            (None, None) => None,
        };
        let content = text
            .ok_or_else(|| wrong("has no known field"))?
            .into_bytes();
        let mode = u32::try_from(item.mode.unwrap_or(default_mode)).ok();
        let mode = mode.filter(|mode| *mode <= 0o777);
        let mode = mode.ok_or_else(|| wrong("has a mode that is not between 0 and 0777"))?;
        let path = inside(&item.path).ok_or_else(|| wrong("would lie outside of it"))?;
        files.insert(path, File { content, mode });
    }
    Ok(())
}

/// The path without needless parts. Names that begin with two dots are those of the exchange itself.
fn inside(path: &str) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    let free =
        !plain.as_os_str().is_empty() && !plain.as_os_str().as_encoded_bytes().starts_with(b"..");
    free.then_some(plain)
}

fn write(
    making: Making<'_>,
    plugin: &str,
    name: &str,
    files: &Files,
) -> Result<PathBuf, VolumeError> {
    let path = making.layout.volume(making.uid, plugin, name);
    let prepared = || -> io::Result<()> {
        make_folder(&path)?;
        // Set apart from making it: the umask would take bits away. The group's bit stays.
        let mode = FOLDER_MODE | fs::metadata(&path)?.permissions().mode() & 0o7000;
        fs::set_permissions(&path, Permissions::from_mode(mode))?;
        for folder in nested::folders(making.pod, name) {
            DirBuilder::new()
                .recursive(true)
                .mode(FOLDER_MODE)
                .create(path.join(folder))?;
        }
        Ok(())
    };
    prepared().map_err(failed("make", &path))?;
    let finish = || ownership::give_to_group(making.pod, &path, true);
    atomic::write(&path, files, finish).map_err(failed("write", &path))?;
    Ok(path)
}

#[cfg(test)]
mod tests;
