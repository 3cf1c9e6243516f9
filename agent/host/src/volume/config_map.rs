//! configMap volumes, and ConfigMaps in projected ones.

use k8s_openapi::api::core::v1::{ConfigMapProjection, ConfigMapVolumeSource};

use super::atomic::Files;
use super::items::Items;
use super::{Making, VolumeError, objects};

const MISSING: &str = "configmap references non-existent config key";

pub(super) fn of_volume(
    making: Making<'_>,
    source: &ConfigMapVolumeSource,
) -> Result<Files, VolumeError> {
    let items = Items {
        items: source.items.as_deref().unwrap_or_default(),
        default_mode: source.default_mode,
        optional: source.optional == Some(true),
        missing: MISSING,
    };
    files(making, &source.name, items)
}

pub(super) fn of_source(
    making: Making<'_>,
    source: &ConfigMapProjection,
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

/// Text and binary values; the API keeps their keys apart.
fn files(making: Making<'_>, name: &str, items: Items<'_>) -> Result<Files, VolumeError> {
    let map = objects::config_map(making.references, name, items.optional)?;
    let text = map.and_then(|map| map.data.as_ref()).into_iter().flatten();
    let text = text.map(|(key, value)| (key.as_str(), value.as_bytes()));
    let binary = map.and_then(|map| map.binary_data.as_ref());
    let binary = binary.into_iter().flatten();
    let binary = binary.map(|(key, value)| (key.as_str(), value.0.as_slice()));
    items.files(text.chain(binary))
}

#[cfg(test)]
mod tests;
