//! Where values of variables come from, other than the manifest.

use std::collections::BTreeMap;

use agent_core::{Fail, FailKind};
use agent_loops::ports::ContainerSpec;
use k8s_openapi::api::core::v1::{Container, EnvFromSource, EnvVar, EnvVarSource};

use super::super::error::ConfigError;
use super::super::field;
use super::super::input::PodInput;

/// A value as the runtime gets it: secrets need not be text.
pub(super) type Value = Vec<u8>;

/// What a look into an object gives. `Ok(None)`: it is optional and not there.
type Found<T> = Result<Option<T>, ConfigError>;

/// All variables of an `envFrom`, by name with its prefix. Any name is good, as in Kubernetes 1.37.
pub(super) fn all(
    pod: &PodInput<'_>,
    source: &EnvFromSource,
) -> Result<BTreeMap<String, Value>, ConfigError> {
    let found = if let Some(map) = &source.config_map_ref {
        config_map(pod, &map.name, map.optional)?
    } else if let Some(secret) = &source.secret_ref {
        self::secret(pod, &secret.name, secret.optional)?
    } else {
        None
    };
    let prefix = source.prefix.as_deref().unwrap_or_default();
    let named = |(key, value)| (format!("{prefix}{key}"), value);
    Ok(found.into_iter().flatten().map(named).collect())
}

/// One `valueFrom`.
pub(super) fn one(
    pod: &PodInput<'_>,
    container: &Container,
    spec: &ContainerSpec,
    variable: &EnvVar,
    source: &EnvVarSource,
) -> Found<Value> {
    let told = |result: Result<String, String>| match result {
        Ok(text) => Ok(Some(text.into_bytes())),
        Err(why) => Err(ConfigError::Variable {
            variable: variable.name.clone(),
            why,
        }),
    };
    if let Some(selector) = &source.field_ref {
        return told(field::of_pod(pod, selector, &spec.ips));
    }
    if let Some(selector) = &source.resource_field_ref {
        return told(field::of_resources(pod, container, selector));
    }
    if let Some(key) = &source.config_map_key_ref {
        let map = config_map(pod, &key.name, key.optional)?;
        return pick(map, "ConfigMap", (&key.name, &key.key), key.optional, pod);
    }
    if let Some(key) = &source.secret_key_ref {
        let secret = secret(pod, &key.name, key.optional)?;
        return pick(secret, "Secret", (&key.name, &key.key), key.optional, pod);
    }
    if let Some(file) = &source.file_key_ref {
        let value = match spec.own.file_values.get(&variable.name) {
            Some(Ok(value)) => value.as_deref().filter(|value| !value.is_empty()),
            Some(Err(fail)) => return Err(ConfigError::Missing(fail.message.clone())),
            None => None,
        };
        return match value {
            Some(value) => Ok(Some(value.as_bytes().to_vec())),
            None if file.optional == Some(true) => Ok(None),
            None => Err(ConfigError::Missing(format!(
                "environment variable key {:?} not found in file {:?}",
                file.key, file.path
            ))),
        };
    }
    Ok(Some(Value::new()))
}

fn pick(
    found: Option<BTreeMap<String, Value>>,
    kind: &str,
    (name, key): (&str, &str),
    optional: Option<bool>,
    pod: &PodInput<'_>,
) -> Found<Value> {
    let Some(mut values) = found else {
        return Ok(None);
    };
    match values.remove(key) {
        Some(value) => Ok(Some(value)),
        None if optional == Some(true) => Ok(None),
        None => Err(ConfigError::Missing(format!(
            "couldn't find key {key} in {kind} {}/{name}",
            pod.want.name.namespace
        ))),
    }
}

/// Only text: what else a ConfigMap has (`binaryData`) is for volumes.
fn config_map(
    pod: &PodInput<'_>,
    name: &str,
    optional: Option<bool>,
) -> Found<BTreeMap<String, Value>> {
    let known = pod.references.config_maps.get(name);
    let map = object(pod, known, ("configMap", name), optional)?;
    let data = map.map(|map| map.data.clone().unwrap_or_default());
    Ok(data.map(|data| {
        let bytes = |(key, text): (String, String)| (key, text.into_bytes());
        data.into_iter().map(bytes).collect()
    }))
}

fn secret(
    pod: &PodInput<'_>,
    name: &str,
    optional: Option<bool>,
) -> Found<BTreeMap<String, Value>> {
    let known = pod.references.secrets.get(name);
    let secret = object(pod, known, ("secret", name), optional)?;
    let data = secret.map(|secret| secret.data.clone().unwrap_or_default());
    Ok(data.map(|data| {
        data.into_iter()
            .map(|(key, value)| (key, value.0))
            .collect()
    }))
}

fn object<'a, T>(
    pod: &PodInput<'_>,
    known: Option<&'a Result<T, Fail>>,
    (kind, name): (&str, &str),
    optional: Option<bool>,
) -> Found<&'a T> {
    match known {
        Some(Ok(object)) => Ok(Some(object)),
        Some(Err(fail)) if fail.kind == FailKind::Gone && optional == Some(true) => Ok(None),
        Some(Err(fail)) => Err(ConfigError::Missing(fail.message.clone())),
        // On a node without an API server there is none of what may be missing.
        None if optional == Some(true) => Ok(None),
        None => Err(ConfigError::Missing(format!(
            "couldn't get {kind} {}/{name}: it comes from an API server, and this node has none",
            pod.want.name.namespace
        ))),
    }
}
