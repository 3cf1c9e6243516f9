//! Pods of the API server, which has checked them and filled in the defaults.

use std::collections::BTreeMap;
use std::time::Duration;

use agent_core::{ContainerName, ContainerWant, Deletion, PodOver, PodWant, RestartPolicy, Time};
use k8s_openapi::api::core::v1::{
    Container, ContainerStatus, EphemeralContainer, Pod, PodSpec, PodStatus,
};

use super::container;

/// Translates a pod of the API. Fails, with the cause, only on what cannot be a pod at all: style is
/// the API server's affair, and a rule that it does not know must not keep a pod from running.
pub(crate) fn from_api(pod: &Pod) -> Result<PodWant, String> {
    let set = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.is_empty());
    let metadata = &pod.metadata;
    for (there, field) in [
        (set(&metadata.uid), "metadata.uid"),
        (set(&metadata.name), "metadata.name"),
        (set(&metadata.namespace), "metadata.namespace"),
    ] {
        if !there {
            return Err(format!("{field} is missing"));
        }
    }
    let spec = pod.spec.as_ref().ok_or("spec is missing")?;
    if spec.containers.is_empty() {
        return Err("spec.containers is empty".to_owned());
    }
    let ephemeral = spec.ephemeral_containers.iter().flatten();
    let status = pod.status.as_ref();
    Ok(PodWant {
        is_static: false,
        ephemeral: ephemeral.map(|each| runs_once(each, spec)).collect(),
        deletion: deletion(pod),
        over: status.and_then(over),
        started_at: status
            .and_then(|status| status.start_time.as_ref())
            .map(|start| time(start.0.as_nanosecond())),
        restarts: status.map(restarts).unwrap_or_default(),
        ..super::pod(pod)
    })
}

fn deletion(pod: &Pod) -> Option<Deletion> {
    pod.metadata.deletion_timestamp.as_ref()?;
    let seconds = pod.metadata.deletion_grace_period_seconds.unwrap_or(0);
    let grace = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    Some(Deletion { grace })
}

fn runs_once(ephemeral: &EphemeralContainer, spec: &PodSpec) -> ContainerWant {
    ContainerWant {
        restart: Some(RestartPolicy::Never),
        ..container(&common(ephemeral), spec)
    }
}

/// Restart counts of containers that have run.
fn restarts(status: &PodStatus) -> BTreeMap<ContainerName, u32> {
    let init = status.init_container_statuses.iter().flatten();
    let all = init.chain(status.container_statuses.iter().flatten());
    let count = |status: &ContainerStatus| {
        status.container_id.as_ref().filter(|id| !id.is_empty())?;
        let count = u32::try_from(status.restart_count).ok()?;
        Some((ContainerName::new(&status.name), count))
    };
    all.filter_map(count).collect()
}

fn over(status: &PodStatus) -> Option<PodOver> {
    let well = match status.phase.as_deref()? {
        "Succeeded" => true,
        "Failed" => false,
        _ => return None,
    };
    Some(PodOver {
        well,
        reason: status.reason.clone().unwrap_or_default(),
        message: status.message.clone().unwrap_or_default(),
    })
}

fn time(nanos: i128) -> Time {
    let end = if nanos < 0 { i64::MIN } else { i64::MAX };
    Time(i64::try_from(nanos).unwrap_or(end))
}

/// An ephemeral container has the fields of a container, of which the API leaves probes, hooks and
/// restart rules empty.
pub(crate) fn common(ephemeral: &EphemeralContainer) -> Container {
    let ephemeral = ephemeral.clone();
    Container {
        args: ephemeral.args,
        command: ephemeral.command,
        env: ephemeral.env,
        env_from: ephemeral.env_from,
        image: ephemeral.image,
        image_pull_policy: ephemeral.image_pull_policy,
        name: ephemeral.name,
        resources: ephemeral.resources,
        security_context: ephemeral.security_context,
        stdin: ephemeral.stdin,
        stdin_once: ephemeral.stdin_once,
        termination_message_path: ephemeral.termination_message_path,
        termination_message_policy: ephemeral.termination_message_policy,
        tty: ephemeral.tty,
        volume_devices: ephemeral.volume_devices,
        volume_mounts: ephemeral.volume_mounts,
        working_dir: ephemeral.working_dir,
        ..Container::default()
    }
}

#[cfg(test)]
mod tests;
