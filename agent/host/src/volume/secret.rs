//! secret volumes, and secrets in projected ones.

use k8s_openapi::api::core::v1::{SecretProjection, SecretVolumeSource};

use super::atomic::Files;
use super::items::Items;
use super::{Making, VolumeError, objects};

const MISSING: &str = "references non-existent secret key";

pub(super) fn of_volume(
    making: Making<'_>,
    source: &SecretVolumeSource,
) -> Result<Files, VolumeError> {
    let items = Items {
        items: source.items.as_deref().unwrap_or_default(),
        default_mode: source.default_mode,
        optional: source.optional == Some(true),
        missing: MISSING,
    };
    files(
        making,
        source.secret_name.as_deref().unwrap_or_default(),
        items,
    )
}

pub(super) fn of_source(
    making: Making<'_>,
    source: &SecretProjection,
    default_mode: Option<i32>,
) -> Result<Files, VolumeError> {
    let items = Items {
        items: source.items.as_deref().unwrap_or_default(),
        default_mode,
        optional: source.optional == Some(true),
        missing: MISSING,
    };
    files(making, &source.name, items)
}

fn files(making: Making<'_>, name: &str, items: Items<'_>) -> Result<Files, VolumeError> {
    let secret = objects::secret(making.references, name, items.optional)?;
    let values = secret.and_then(|secret| secret.data.as_ref());
    let values = values.into_iter().flatten();
    items.files(values.map(|(key, value)| (key.as_str(), value.0.as_slice())))
}

#[cfg(test)]
mod tests;
