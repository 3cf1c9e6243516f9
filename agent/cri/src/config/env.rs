//! A container's environment.

use agent_core::expand;
use agent_loops::ports::DeviceGrant;
use k8s_openapi::api::core::v1::{Container, EnvFromSource, EnvVarSource};
use proto::cri::KeyValue;

use super::error::ConfigError;
use super::field;
use super::input::PodInput;

/// The variable in which NVIDIA's runtime, where it is installed, reads which GPUs to give: a list, or
/// `all`, as many images say. `void` gives none.
const NVIDIA_VISIBLE_DEVICES: (&str, &str) = ("NVIDIA_VISIBLE_DEVICES", "void");

/// Variables in order, each name once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Environment(Vec<(String, String)>);

impl Environment {
    /// Variables of a container: of its devices first, then its own, which replace those of the same
    /// name. Variables of devices given by CDI name (`cdi`) come with the CDI document and replace all.
    pub(crate) fn of(
        pod: &PodInput<'_>,
        container: &Container,
        ips: &[String],
        grants: &[DeviceGrant],
        cdi: bool,
    ) -> Result<Self, ConfigError> {
        let own = Self::own(pod, container, ips)?;
        let mut all = Self::default();
        // No image gets a GPU by asking: only a grant gives one, or a manifest that says so itself.
        all.set(
            NVIDIA_VISIBLE_DEVICES.0,
            NVIDIA_VISIBLE_DEVICES.1.to_owned(),
        );
        if !cdi {
            for (name, value) in grants.iter().flat_map(|grant| &grant.plain.env) {
                all.set(name, value.clone());
            }
        }
        for (name, value) in own.0 {
            all.set(&name, value);
        }
        Ok(all)
    }

    /// What the manifest says, in its order. A later variable of the same name replaces an earlier
    /// one; a value may refer to those before it.
    fn own(pod: &PodInput<'_>, container: &Container, ips: &[String]) -> Result<Self, ConfigError> {
        for source in container.env_from.iter().flatten() {
            refuse_source(source)?;
        }
        let mut own = Self::default();
        for variable in container.env.iter().flatten() {
            let value = match (&variable.value, &variable.value_from) {
                (Some(value), _) if !value.is_empty() => expand(value, |name| own.get(name)),
                (_, Some(source)) => match value_from(pod, container, ips, source) {
                    Ok(Some(value)) => value,
                    Ok(None) => continue,
                    Err(why) => {
                        return Err(ConfigError::Variable {
                            variable: variable.name.clone(),
                            why,
                        });
                    }
                },
                _ => String::new(),
            };
            own.set(&variable.name, value);
        }
        Ok(own)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(each, _)| each == name)
            .map(|(_, value)| value.as_str())
    }

    /// For the runtime.
    pub(crate) fn into_pairs(self) -> Vec<KeyValue> {
        let pair = |(key, value): (String, String)| KeyValue {
            key,
            value: value.into_bytes(),
        };
        self.0.into_iter().map(pair).collect()
    }

    fn set(&mut self, name: &str, value: String) {
        match self.0.iter_mut().find(|(each, _)| each == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }
}

/// `None`: it is optional and not there, so the variable is left out.
fn value_from(
    pod: &PodInput<'_>,
    container: &Container,
    ips: &[String],
    source: &EnvVarSource,
) -> Result<Option<String>, String> {
    if let Some(field) = &source.field_ref {
        return field::of_pod(pod, field, ips).map(Some);
    }
    if let Some(resource) = &source.resource_field_ref {
        return field::of_resources(pod, container, resource).map(Some);
    }
    if let Some(key) = &source.config_map_key_ref {
        return from_api("ConfigMap", &key.name, key.optional);
    }
    if let Some(key) = &source.secret_key_ref {
        return from_api("Secret", &key.name, key.optional);
    }
    if source.file_key_ref.is_some() {
        return Err("fileKeyRef is not supported: write the value into the manifest".to_owned());
    }
    Ok(Some(String::new()))
}

fn from_api(kind: &str, name: &str, optional: Option<bool>) -> Result<Option<String>, String> {
    if optional == Some(true) {
        return Ok(None);
    }
    Err(format!(
        "{kind} {name:?} comes from an API server, and this node does not have one: \
         write the value into the manifest"
    ))
}

fn refuse_source(source: &EnvFromSource) -> Result<(), ConfigError> {
    let map = source
        .config_map_ref
        .as_ref()
        .map(|map| ("ConfigMap", &map.name, map.optional));
    let secret = source
        .secret_ref
        .as_ref()
        .map(|secret| ("Secret", &secret.name, secret.optional));
    match map.or(secret) {
        Some((kind, name, optional)) if optional != Some(true) => {
            Err(ConfigError::EnvFrom(format!("{kind} {name:?}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
