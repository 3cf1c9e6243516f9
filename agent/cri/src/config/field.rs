//! Values of the downward API: what a container is told of its own pod.

use std::borrow::Cow;
use std::collections::BTreeMap;

use agent_core::{Quantity, in_units, pair_lines, subscript};
use k8s_openapi::api::core::v1::{Container, ObjectFieldSelector, ResourceFieldSelector};

use super::error::ConfigError;
use super::input::PodInput;
use super::resources::{parse, quantity};
use crate::labels;

/// A `fieldRef`. `ips` are the pod's, primary first. The error says why it cannot be had.
pub(crate) fn of_pod(
    pod: &PodInput<'_>,
    selector: &ObjectFieldSelector,
    ips: &[String],
) -> Result<String, String> {
    if let Some(version) = selector
        .api_version
        .as_deref()
        .filter(|version| *version != "v1")
    {
        return Err(format!(
            "fieldRef of apiVersion {version:?} is not known, write v1"
        ));
    }
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let first = |ips: &[String]| ips.first().cloned().unwrap_or_default();
    let path = selector.field_path.as_str();
    if let Some((map, key)) = subscript(path) {
        return pairs(pod, map)
            .map(|pairs| pairs.get(key).cloned().unwrap_or_default())
            .ok_or_else(|| format!("fieldPath {path:?} takes no key"));
    }
    Ok(match path {
        "metadata.name" => pod.want.name.name.to_string(),
        "metadata.namespace" => pod.want.name.namespace.to_string(),
        "metadata.uid" => pod.want.uid.to_string(),
        "spec.nodeName" | "spec.host" => text(&pod.spec.node_name),
        "spec.serviceAccountName" => text(&pod.spec.service_account_name),
        "status.hostIP" => first(&pod.node.host_ips),
        "status.hostIPs" => pod.node.host_ips.join(","),
        "status.podIP" => first(ips),
        "status.podIPs" => ips.join(","),
        _ => match pairs(pod, path) {
            Some(pairs) => pair_lines(&pairs),
            None => return Err(format!("fieldPath {path:?} cannot be asked for")),
        },
    })
}

fn pairs(pod: &PodInput<'_>, path: &str) -> Option<BTreeMap<String, String>> {
    match path {
        "metadata.labels" => Some(pod.metadata.labels.clone().unwrap_or_default()),
        "metadata.annotations" => Some(labels::of_pod(pod.want, pod.metadata)),
        _ => None,
    }
}

/// A `resourceFieldRef` of `container` or of the one it names: the amount in units of the divisor,
/// rounded up. A limit that is not set is what the pod or the node can give at most.
pub(crate) fn of_resources(
    pod: &PodInput<'_>,
    container: &Container,
    selector: &ResourceFieldSelector,
) -> Result<String, String> {
    let named = selector
        .container_name
        .as_deref()
        .filter(|name| !name.is_empty());
    let container = match named {
        Some(name) => pod.container(name).map_err(|error| error.to_string())?,
        None => Cow::Borrowed(container),
    };
    let amount = amount(pod, &container, &selector.resource).map_err(|error| error.to_string())?;
    let amount =
        amount.ok_or_else(|| format!("resource {:?} cannot be asked for", selector.resource))?;
    let divisor = selector
        .divisor
        .as_ref()
        .map_or("1", |divisor| divisor.0.as_str());
    let divisor = parse("divisor", divisor).map_err(|error| error.to_string())?;
    let cpu = selector.resource.ends_with(".cpu");
    Ok(in_units(amount, divisor, cpu).to_string())
}

/// `None`: no such resource.
fn amount(
    pod: &PodInput<'_>,
    container: &Container,
    resource: &str,
) -> Result<Option<Quantity>, ConfigError> {
    let Some((list, name)) = resource.split_once('.') else {
        return Ok(None);
    };
    let allocatable = match name {
        "cpu" => pod.node.allocatable.cpu,
        "memory" => pod.node.allocatable.memory,
        "ephemeral-storage" => pod.node.allocatable.ephemeral_storage,
        // Huge pages are never lent out twice: without a limit there are none.
        _ if name.starts_with("hugepages-") => Quantity::default(),
        _ => return Ok(None),
    };
    let own = container.resources.as_ref();
    let limit = quantity(own.and_then(|each| each.limits.as_ref()), name)?;
    match list {
        "requests" => {
            let request = quantity(own.and_then(|each| each.requests.as_ref()), name)?;
            Ok(Some(request.or(limit).unwrap_or_default()))
        }
        "limits" => {
            let of_pod = pod
                .spec
                .resources
                .as_ref()
                .and_then(|each| each.limits.as_ref());
            let given = |each: Option<Quantity>| each.filter(|each| !each.is_zero());
            let limit = match given(limit) {
                Some(limit) => Some(limit),
                None => given(quantity(of_pod, name)?),
            };
            Ok(Some(limit.unwrap_or(allocatable)))
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests;
