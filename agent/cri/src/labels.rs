//! Labels and annotations on sandboxes and containers: the only place that knows their names.
//!
//! They are the stock kubelet's (Kubernetes 1.37), so that a node can go from the stock kubelet to
//! gpulet and back under running pods: each side finds its pods, restart counts, hashes and hooks here.
//! One annotation is gpulet's own: the devices of a container, for the case that the journal is lost.

use std::collections::BTreeMap;
use std::time::Duration;

use agent_core::{ContainerName, DeviceId, PodName, PodUid, PodWant, Recovered};
use k8s_openapi::api::core::v1::{Container, ContainerPort, LifecycleHandler};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::hook;

type Pairs = BTreeMap<String, String>;

const POD_NAME: &str = "io.kubernetes.pod.name";
const POD_NAMESPACE: &str = "io.kubernetes.pod.namespace";
const POD_UID: &str = "io.kubernetes.pod.uid";
const POD_DELETION_GRACE: &str = "io.kubernetes.pod.deletionGracePeriod";
const POD_TERMINATION_GRACE: &str = "io.kubernetes.pod.terminationGracePeriod";
const CONTAINER_NAME: &str = "io.kubernetes.container.name";
const CONTAINER_HASH: &str = "io.kubernetes.container.hash";
const CONTAINER_RESTARTS: &str = "io.kubernetes.container.restartCount";
const CONTAINER_MESSAGE_PATH: &str = "io.kubernetes.container.terminationMessagePath";
const CONTAINER_MESSAGE_POLICY: &str = "io.kubernetes.container.terminationMessagePolicy";
const CONTAINER_PRE_STOP: &str = "io.kubernetes.container.preStopHandler";
const CONTAINER_PORTS: &str = "io.kubernetes.container.ports";
const CONTAINER_DEVICES: &str = "io.gpulet.container.devices";
const CONFIG_SOURCE: &str = "kubernetes.io/config.source";
const CONFIG_HASH: &str = "kubernetes.io/config.hash";
const APPARMOR_OF_CONTAINER: &str = "container.apparmor.security.beta.kubernetes.io/";

/// Labels of a sandbox: the pod's own, and whose it is.
pub(crate) fn of_sandbox(want: &PodWant, metadata: &ObjectMeta) -> Pairs {
    let mut labels = metadata.labels.clone().unwrap_or_default();
    labels.extend(owner_pairs(want));
    labels
}

/// Annotations of the pod, which are also those of its sandbox. A pod from a file says so.
pub(crate) fn of_pod(want: &PodWant, metadata: &ObjectMeta) -> Pairs {
    let mut annotations = metadata.annotations.clone().unwrap_or_default();
    if want.is_static {
        annotations
            .entry(CONFIG_SOURCE.to_owned())
            .or_insert_with(|| "file".to_owned());
        annotations
            .entry(CONFIG_HASH.to_owned())
            .or_insert_with(|| want.uid.to_string());
    }
    annotations
}

/// Labels of a container.
pub(crate) fn of_container(want: &PodWant, name: &str) -> Pairs {
    let mut labels = owner_pairs(want);
    labels.insert(CONTAINER_NAME.to_owned(), name.to_owned());
    labels
}

/// Annotations of a container: what is needed to judge and to stop it without its manifest.
pub(crate) fn annotations_of_container(
    want: &PodWant,
    metadata: &ObjectMeta,
    container: &Container,
    attempt: u32,
    devices: &[&DeviceId],
) -> Pairs {
    let hash = want.init.iter().chain(&want.containers);
    let hash = hash.chain(&want.ephemeral);
    let hash = hash
        .into_iter()
        .find(|each| each.name.as_str() == container.name);
    let hash = hash.map(|each| each.hash.clone()).unwrap_or_default();
    let or = |text: &Option<String>, default: &str| text.as_deref().unwrap_or(default).to_owned();
    let message_path = or(&container.termination_message_path, "/dev/termination-log");
    let message_policy = or(&container.termination_message_policy, "File");
    let mut annotations = Pairs::from([
        (CONTAINER_HASH.to_owned(), hash),
        (CONTAINER_RESTARTS.to_owned(), attempt.to_string()),
        (CONTAINER_MESSAGE_PATH.to_owned(), message_path),
        (CONTAINER_MESSAGE_POLICY.to_owned(), message_policy),
        (
            POD_TERMINATION_GRACE.to_owned(),
            want.grace.as_secs().to_string(),
        ),
    ]);
    if !devices.is_empty() {
        let names: Vec<&str> = devices.iter().map(|device| device.as_str()).collect();
        annotations.insert(CONTAINER_DEVICES.to_owned(), names.join(","));
    }
    if let Some(seconds) = metadata.deletion_grace_period_seconds {
        annotations.insert(POD_DELETION_GRACE.to_owned(), seconds.to_string());
    }
    if let Some(pre_stop) = container
        .lifecycle
        .as_ref()
        .and_then(|each| each.pre_stop.as_ref())
    {
        insert_json(&mut annotations, CONTAINER_PRE_STOP, pre_stop);
    }
    if let Some(ports) = container.ports.as_ref().filter(|ports| !ports.is_empty()) {
        insert_json(&mut annotations, CONTAINER_PORTS, ports);
    }
    annotations
}

/// Filter for everything that belongs to one pod.
pub(crate) fn selector(uid: &PodUid) -> Pairs {
    Pairs::from([(POD_UID.to_owned(), uid.to_string())])
}

/// Whose sandbox or container this is; `None` when no kubelet made it.
pub(crate) fn owner(labels: &Pairs) -> Option<(PodUid, PodName)> {
    let get = |key| labels.get(key).filter(|value| !value.is_empty());
    let uid = get(POD_UID)?;
    Some((
        PodUid::new(uid),
        PodName::new(get(POD_NAMESPACE)?, get(POD_NAME)?),
    ))
}

/// Name of the container inside its pod.
pub(crate) fn container_name(labels: &Pairs) -> Option<ContainerName> {
    labels
        .get(CONTAINER_NAME)
        .filter(|name| !name.is_empty())
        .map(ContainerName::new)
}

/// The hash it was made with; empty when there is none.
pub(crate) fn hash(annotations: &Pairs) -> String {
    annotations.get(CONTAINER_HASH).cloned().unwrap_or_default()
}

/// Its restart count.
pub(crate) fn restarts(annotations: &Pairs) -> Option<u32> {
    annotations.get(CONTAINER_RESTARTS)?.parse().ok()
}

/// How to stop it when its manifest is gone. What cannot be read counts as not given: the container
/// must be stopped all the same.
pub(crate) fn recovered(annotations: &Pairs) -> Recovered {
    let grace = annotations
        .get(POD_TERMINATION_GRACE)
        .and_then(|text| text.parse().ok());
    let pre_stop = json::<LifecycleHandler>(annotations, CONTAINER_PRE_STOP);
    let ports = json::<Vec<ContainerPort>>(annotations, CONTAINER_PORTS).unwrap_or_default();
    let devices = annotations
        .get(CONTAINER_DEVICES)
        .map(|names| names.split(','));
    Recovered {
        grace: grace.map(Duration::from_secs),
        pre_stop: pre_stop.map(|handler| hook::read(&handler, &ports)),
        devices: devices.into_iter().flatten().map(DeviceId::new).collect(),
    }
}

fn json<T: DeserializeOwned>(annotations: &Pairs, key: &str) -> Option<T> {
    serde_json::from_str(annotations.get(key)?).ok()
}

/// AppArmor profile of a container from the annotation that came before the field.
pub(crate) fn apparmor<'a>(metadata: &'a ObjectMeta, container: &str) -> Option<&'a str> {
    let annotations = metadata.annotations.as_ref()?;
    annotations
        .get(&format!("{APPARMOR_OF_CONTAINER}{container}"))
        .map(String::as_str)
}

fn owner_pairs(want: &PodWant) -> Pairs {
    Pairs::from([
        (POD_NAME.to_owned(), want.name.name.to_string()),
        (POD_NAMESPACE.to_owned(), want.name.namespace.to_string()),
        (POD_UID.to_owned(), want.uid.to_string()),
    ])
}

/// Types of the API always turn into JSON; if one did not, the container must start all the same.
fn insert_json(annotations: &mut Pairs, key: &str, value: &impl Serialize) {
    match serde_json::to_string(value) {
        Ok(text) => drop(annotations.insert(key.to_owned(), text)),
        Err(error) => tracing::warn!(key, %error, "annotation left out"),
    }
}

#[cfg(test)]
mod tests;
