//! The calls, one file for each method of the runtime's two services.

pub(crate) mod attach;
pub(crate) mod container_status;
pub(crate) mod create_container;
pub(crate) mod exec;
pub(crate) mod exec_sync;
pub(crate) mod get_container_events;
pub(crate) mod image_status;
pub(crate) mod list_containers;
pub(crate) mod list_images;
pub(crate) mod list_pod_sandbox;
pub(crate) mod pod_sandbox_status;
pub(crate) mod port_forward;
pub(crate) mod pull_image;
pub(crate) mod remove_container;
pub(crate) mod remove_pod_sandbox;
pub(crate) mod reopen_container_log;
pub(crate) mod run_pod_sandbox;
pub(crate) mod runtime_config;
pub(crate) mod runtime_handlers;
pub(crate) mod start_container;
pub(crate) mod status;
pub(crate) mod stop_container;
pub(crate) mod stop_pod_sandbox;
pub(crate) mod version;

/// Seconds for a request that knows no smaller unit. Rounded up: 0 has a meaning of its own there.
fn whole_seconds(duration: std::time::Duration) -> i64 {
    let up = u64::from(duration.subsec_nanos() > 0);
    i64::try_from(duration.as_secs().saturating_add(up)).unwrap_or(i64::MAX)
}
