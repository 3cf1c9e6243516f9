//! Images in the node's status.

use std::cmp::Reverse;

use agent_loops::ports::ListedImage;
use k8s_openapi::api::core::v1::ContainerImage;

/// Most names of one image (Kubernetes 1.37).
const NAMES: usize = 5;

/// The biggest images first, at most `limit`; names with digests first.
pub(crate) fn shown(images: &[ListedImage], limit: Option<usize>) -> Vec<ContainerImage> {
    let mut images: Vec<&ListedImage> = images.iter().collect();
    images.sort_by_key(|image| (Reverse(image.size), Reverse(&image.id)));
    images
        .into_iter()
        .take(limit.unwrap_or(usize::MAX))
        .map(|image| {
            let with_digest = |name: &&String| name.contains('@');
            let digests = image.names.iter().filter(with_digest);
            let tags = image.names.iter().filter(|name| !with_digest(name));
            ContainerImage {
                names: Some(digests.chain(tags).take(NAMES).cloned().collect()),
                size_bytes: i64::try_from(image.size).ok(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
