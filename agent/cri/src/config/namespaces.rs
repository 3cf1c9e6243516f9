//! Which namespaces a pod shares with the host, and its containers with each other.

use proto::cri::{NamespaceMode, NamespaceOption};

use super::error::ConfigError;
use super::input::PodInput;

/// The same for the sandbox and for each of its containers.
pub(crate) fn namespaces(pod: &PodInput<'_>) -> Result<NamespaceOption, ConfigError> {
    if pod.spec.host_users == Some(false) {
        return Err(ConfigError::UserNamespace);
    }
    let of_pod_or_host = |host: bool| {
        if host {
            NamespaceMode::Node
        } else {
            NamespaceMode::Pod
        }
    };
    let pid = if pod.spec.host_pid == Some(true) {
        NamespaceMode::Node
    } else if pod.spec.share_process_namespace == Some(true) {
        NamespaceMode::Pod
    } else {
        NamespaceMode::Container
    };
    Ok(NamespaceOption {
        network: of_pod_or_host(pod.want.host_network).into(),
        pid: pid.into(),
        ipc: of_pod_or_host(pod.spec.host_ipc == Some(true)).into(),
        target_id: String::new(),
        userns_options: None,
    })
}
