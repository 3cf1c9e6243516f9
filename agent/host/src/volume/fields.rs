//! Fields of a pod as text, for files and for variables.

use std::collections::BTreeMap;

use agent_core::{Quantity, in_units, pair_lines, subscript};
use k8s_openapi::api::core::v1::{Container, Pod, ResourceFieldSelector};

use crate::cgroup::Tree;

type Written = BTreeMap<String, k8s_openapi::apimachinery::pkg::api::resource::Quantity>;

/// A field that files may hold: name, namespace, UID, labels, annotations, or one of these by key.
pub(super) fn of_metadata(pod: &Pod, path: &str) -> Option<String> {
    let metadata = &pod.metadata;
    let pairs = |map: &str| match map {
        "metadata.labels" => Some(metadata.labels.clone().unwrap_or_default()),
        "metadata.annotations" => Some(metadata.annotations.clone().unwrap_or_default()),
        _ => None,
    };
    if let Some((map, key)) = subscript(path) {
        return Some(pairs(map)?.remove(key).unwrap_or_default());
    }
    let text = |text: &Option<String>| Some(text.clone().unwrap_or_default());
    match path {
        "metadata.name" => text(&metadata.name),
        "metadata.namespace" => text(&metadata.namespace),
        "metadata.uid" => text(&metadata.uid),
        map => pairs(map).map(|pairs| pair_lines(&pairs)),
    }
}

/// A resource of a container in units of the divisor. A missing request is the limit; a missing limit is
/// the pod's, or what the node has for pods.
/// `own`: the container when the reference names none.
pub(super) fn of_resource(
    pod: &Pod,
    own: &str,
    reference: &ResourceFieldSelector,
    tree: &Tree,
) -> Option<String> {
    let name = reference
        .container_name
        .as_deref()
        .filter(|name| !name.is_empty())
        .unwrap_or(own);
    let container = containers(pod).find(|container| container.name == name)?;
    let (side, resource) = reference.resource.split_once('.')?;
    let hugepages = resource.starts_with("hugepages-");
    if !hugepages && !["cpu", "memory", "ephemeral-storage"].contains(&resource) {
        return None;
    }
    let amount = |amounts: Option<&Written>| amounts?.get(resource)?.0.parse::<Quantity>().ok();
    let resources = container.resources.as_ref();
    let of_pod = pod.spec.as_ref().and_then(|spec| spec.resources.as_ref());
    let limit = amount(resources.and_then(|each| each.limits.as_ref()));
    let amount = match side {
        "requests" => amount(resources.and_then(|each| each.requests.as_ref())).or(limit),
        "limits" => {
            let given = |limit: Option<Quantity>| limit.filter(|limit| !limit.is_zero());
            let of_pod = || given(amount(of_pod.and_then(|each| each.limits.as_ref())));
            // Huge pages are never lent out twice: without a limit there are none.
            let most = || (!hugepages).then(|| tree.allocatable(resource));
            given(limit).or_else(of_pod).or_else(most)
        }
        _ => return None,
    };
    let divisor = reference.divisor.as_ref().map(|divisor| divisor.0.parse());
    let divisor: Quantity = divisor.transpose().ok()?.unwrap_or_default();
    Some(in_units(amount.unwrap_or_default(), divisor, resource == "cpu").to_string())
}

fn containers(pod: &Pod) -> impl Iterator<Item = &Container> {
    let spec = pod.spec.iter();
    spec.flat_map(|spec| {
        spec.containers
            .iter()
            .chain(spec.init_containers.iter().flatten())
    })
}
