//! The container runtime and images.

use super::duration::GoDuration;
use super::field::group;

group! {
    /// Runtime sockets, pulls, image collection.
    pub struct Images {
        /// Socket of the container runtime.
        container_runtime_endpoint: String = "containerRuntimeEndpoint" (
            "unix:///run/containerd/containerd.sock".to_owned(), zero),
        /// Socket of the image service; empty: the runtime's.
        image_service_endpoint: String = "imageServiceEndpoint" (String::new()),
        /// Deadline of runtime calls other than pull, logs, exec and attach.
        runtime_request_timeout: GoDuration =
            "runtimeRequestTimeout" (GoDuration::seconds(120), zero),
        /// Pulls a second; 0: no limit.
        registry_pull_qps: i32 = "registryPullQPS" (5),
        /// Pulls in a burst.
        registry_burst: i32 = "registryBurst" (10, zero),
        /// One pull at a time. Unset: false if `maxParallelImagePulls` is 2 or more, else true.
        serialize_image_pulls: Option<bool> = "serializeImagePulls" (None),
        /// Most pulls side by side; unset: no limit.
        max_parallel_image_pulls: Option<i32> = "maxParallelImagePulls" (None),
        /// For which images present on the node the pull secrets are checked again.
        credentials_verification: String = "imagePullCredentialsVerificationPolicy" (
            "NeverVerifyPreloadedImages".to_owned(), zero),
        /// Images left out of that check.
        verification_allowlist: Vec<String> =
            "preloadedImagesVerificationAllowlist" (Vec::new()),
        /// An unused image younger than this is kept.
        image_minimum_gc_age: GoDuration = "imageMinimumGCAge" (GoDuration::seconds(120), zero),
        /// An image unused for longer than this goes; 0: never for that reason.
        image_maximum_gc_age: GoDuration = "imageMaximumGCAge" (GoDuration::seconds(0)),
        /// Disk use in percent above which images are collected.
        image_gc_high_threshold_percent: i32 = "imageGCHighThresholdPercent" (85),
        /// Disk use in percent down to which they are collected.
        image_gc_low_threshold_percent: i32 = "imageGCLowThresholdPercent" (80),
    }
}

impl Images {
    /// Whether images are pulled one at a time (Kubernetes: true unless `maxParallelImagePulls` is
    /// at least 2).
    pub fn one_pull_at_a_time(&self) -> bool {
        let wide = self
            .max_parallel_image_pulls
            .is_some_and(|pulls| pulls >= 2);
        self.serialize_image_pulls.unwrap_or(!wide)
    }
}
