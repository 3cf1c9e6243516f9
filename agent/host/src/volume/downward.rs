//! downwardAPI volumes, and the same in projected ones: fields of the pod as files.

use k8s_openapi::api::core::v1::DownwardAPIVolumeFile;

use super::atomic::Files;
use super::published::file;
use super::{Making, VolumeError, fields};

pub(super) fn files(
    making: Making<'_>,
    items: &[DownwardAPIVolumeFile],
    default_mode: Option<i32>,
) -> Result<Files, VolumeError> {
    let mut files = Files::new();
    for item in items {
        let text = match (&item.field_ref, &item.resource_field_ref) {
            (Some(field), _) => fields::of_metadata(making.pod, &field.field_path),
            (None, Some(resource)) => fields::of_resource(making.pod, "", resource, making.tree),
            (None, None) => None,
        };
        let content = text.ok_or_else(|| {
            VolumeError::Manifest(format!(
                "file {:?} of the downward API has no known field",
                item.path
            ))
        })?;
        let (path, file) = file(&item.path, content.into_bytes(), item.mode.or(default_mode))?;
        files.insert(path, file);
    }
    Ok(files)
}

#[cfg(test)]
mod tests;
