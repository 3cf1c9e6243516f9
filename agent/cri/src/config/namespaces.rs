//! Which namespaces a pod shares with the host, and its containers with each other.

use agent_loops::ports::IdRange;
use proto::cri::{IdMapping, NamespaceMode, NamespaceOption, UserNamespace};

use super::error::ConfigError;
use super::input::PodInput;

/// The same for the sandbox and for each of its containers.
pub(crate) fn namespaces(pod: &PodInput<'_>) -> Result<NamespaceOption, ConfigError> {
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
        userns_options: Some(user_namespace(pod)?),
    })
}

/// The host's, unless the pod has one of its own.
fn user_namespace(pod: &PodInput<'_>) -> Result<UserNamespace, ConfigError> {
    let (mode, ids) = match (pod.spec.host_users, pod.prepared.user_namespace) {
        (Some(false), Some(range)) => (NamespaceMode::Pod, mappings(range)),
        // Never started with more rights than it asks for.
        (Some(false), None) => return Err(ConfigError::UserNamespaceRange),
        _ => (NamespaceMode::Node, Vec::new()),
    };
    Ok(UserNamespace {
        mode: mode.into(),
        uids: ids.clone(),
        gids: ids,
    })
}

/// One range from 0 on.
pub(crate) fn mappings(range: IdRange) -> Vec<IdMapping> {
    vec![IdMapping {
        host_id: range.first,
        container_id: 0,
        length: range.length,
    }]
}
