//! The environment of a container, as far as `subPathExpr` needs it: names and values.

use std::collections::BTreeMap;

use agent_core::expand;
use agent_loops::ports::References;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Container, EnvFromSource, EnvVarSource, Pod};

use super::{VolumeError, fields, objects};
use crate::cgroup::Tree;

/// Whose environment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asking<'a> {
    pub(crate) pod: &'a Pod,
    pub(crate) container: &'a Container,
    /// The pod's addresses, primary first.
    pub(crate) ips: &'a [String],
    pub(crate) tree: &'a Tree,
    pub(crate) references: &'a References,
}

/// Variables by name (Kubernetes 1.37): first whole objects (`envFrom`), a later one over an earlier
/// one; then `env` over these, each with references to what is there so far and to the variables of
/// Services; then these variables where the name is free. Variables of devices are not part of it.
pub(crate) fn environment(asking: Asking<'_>) -> Result<BTreeMap<String, String>, VolumeError> {
    let mut own = BTreeMap::new();
    for source in asking.container.env_from.iter().flatten() {
        own.extend(of_object(asking, source)?);
    }
    let services = &asking.references.services;
    let services: BTreeMap<&str, &str> = services
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    for variable in asking.container.env.iter().flatten() {
        let written = variable.value.as_deref().unwrap_or_default();
        let value = match &variable.value_from {
            _ if !written.is_empty() => expand(written, |name| {
                let own = own.get(name).map(String::as_str);
                own.or_else(|| services.get(name).copied())
            }),
            Some(source) => match of_source(asking, source)? {
                Some(value) => value,
                None => continue,
            },
            None => String::new(),
        };
        own.insert(variable.name.clone(), value);
    }
    for (name, value) in services {
        own.entry(name.to_owned())
            .or_insert_with(|| value.to_owned());
    }
    Ok(own)
}

fn of_object(
    asking: Asking<'_>,
    source: &EnvFromSource,
) -> Result<Vec<(String, String)>, VolumeError> {
    let prefix = source.prefix.as_deref().unwrap_or_default();
    let named = |key: &String| format!("{prefix}{key}");
    if let Some(source) = &source.config_map_ref {
        let optional = source.optional == Some(true);
        let map = objects::config_map(asking.references, &source.name, optional)?;
        let data = map.and_then(|map| map.data.as_ref()).into_iter().flatten();
        return Ok(data
            .map(|(key, value)| (named(key), value.clone()))
            .collect());
    }
    if let Some(source) = &source.secret_ref {
        let optional = source.optional == Some(true);
        let secret = objects::secret(asking.references, &source.name, optional)?;
        let data = secret.and_then(|secret| secret.data.as_ref());
        let data = data.into_iter().flatten();
        return Ok(data.map(|(key, value)| (named(key), text(value))).collect());
    }
    Ok(Vec::new())
}

/// `None`: it is optional and not there, so the variable is left out. Fields of the node are not known
/// here, and left out as well: an expression that names one says that it is missing.
fn of_source(asking: Asking<'_>, source: &EnvVarSource) -> Result<Option<String>, VolumeError> {
    let Asking {
        pod,
        container,
        ips,
        tree,
        references,
    } = asking;
    if let Some(field) = &source.field_ref {
        let spec = pod.spec.as_ref();
        let path = field.field_path.as_str();
        return Ok(match path {
            "spec.nodeName" => spec.and_then(|spec| spec.node_name.clone()),
            "spec.serviceAccountName" => spec.and_then(|spec| spec.service_account_name.clone()),
            "status.podIP" => ips.first().cloned(),
            "status.podIPs" => Some(ips.join(",")),
            path => fields::of_metadata(pod, path),
        });
    }
    if let Some(resource) = &source.resource_field_ref {
        return Ok(fields::of_resource(pod, &container.name, resource, tree));
    }
    let missing = |key: &str, kind: &str, name: &str| {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let text = format!("couldn't find key {key} in {kind} {namespace}/{name}");
        Err(VolumeError::Wrong(text))
    };
    if let Some(key) = &source.config_map_key_ref {
        let optional = key.optional == Some(true);
        let Some(map) = objects::config_map(references, &key.name, optional)? else {
            return Ok(None);
        };
        return match map.data.as_ref().and_then(|data| data.get(&key.key)) {
            Some(value) => Ok(Some(value.clone())),
            None if optional => Ok(None),
            None => missing(&key.key, "ConfigMap", &key.name),
        };
    }
    if let Some(key) = &source.secret_key_ref {
        let optional = key.optional == Some(true);
        let Some(secret) = objects::secret(references, &key.name, optional)? else {
            return Ok(None);
        };
        return match secret.data.as_ref().and_then(|data| data.get(&key.key)) {
            Some(value) => Ok(Some(text(value))),
            None if optional => Ok(None),
            None => missing(&key.key, "Secret", &key.name),
        };
    }
    Ok(None)
}

fn text(value: &ByteString) -> String {
    String::from_utf8_lossy(&value.0).into_owned()
}

#[cfg(test)]
mod tests;
