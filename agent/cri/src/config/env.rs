//! A container's environment.

mod source;

use std::str;

use agent_core::expand;
use agent_loops::ports::ContainerSpec;
use k8s_openapi::api::core::v1::Container;
use proto::cri::KeyValue;

use self::source::Value;
use super::error::ConfigError;
use super::input::PodInput;

/// The variable in which NVIDIA's runtime, where it is installed, reads which GPUs to give: a list, or
/// `all`, as many images say. `void` gives none.
const NVIDIA_VISIBLE_DEVICES: (&str, &str) = ("NVIDIA_VISIBLE_DEVICES", "void");

/// Variables in order, each name once.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Environment(Vec<(String, Value)>);

impl Environment {
    /// Variables of a container: of its devices first, then its own, which replace those of the same
    /// name, then those of Services, where nobody else uses the name. Variables of devices given by CDI
    /// name (`cdi`) come with the CDI document and replace all.
    pub(crate) fn of(
        pod: &PodInput<'_>,
        container: &Container,
        spec: &ContainerSpec,
        cdi: bool,
    ) -> Result<Self, ConfigError> {
        let own = Self::own(pod, container, spec)?;
        let mut all = Self::default();
        // No image gets a GPU by asking: only a grant gives one, or a manifest that says so itself.
        all.set(NVIDIA_VISIBLE_DEVICES.0, NVIDIA_VISIBLE_DEVICES.1.into());
        if !cdi {
            for (name, value) in spec.grants.iter().flat_map(|grant| &grant.plain.env) {
                all.set(name, value.clone().into());
            }
        }
        for (name, value) in own.0 {
            all.set(&name, value);
        }
        for (name, value) in &pod.references.services {
            if all.bytes(name).is_none() {
                all.set(name, value.clone().into());
            }
        }
        Ok(all)
    }

    /// What the manifest says: `envFrom`, then `env` in its order. A later variable of the same name
    /// replaces an earlier one; a value may refer to those before it, and to those of Services.
    fn own(
        pod: &PodInput<'_>,
        container: &Container,
        spec: &ContainerSpec,
    ) -> Result<Self, ConfigError> {
        let mut own = Self::default();
        for source in container.env_from.iter().flatten() {
            for (name, value) in source::all(pod, source)? {
                own.set(&name, value);
            }
        }
        let services = &pod.references.services;
        let service = |name: &str| {
            let found = services.iter().find(|(each, _)| each == name);
            found.map(|(_, value)| value.as_str())
        };
        for variable in container.env.iter().flatten() {
            let value = match (&variable.value, &variable.value_from) {
                (Some(value), _) if !value.is_empty() => {
                    expand(value, |name| own.get(name).or_else(|| service(name))).into()
                }
                (_, Some(source)) => match source::one(pod, container, spec, variable, source)? {
                    Some(value) => value,
                    None => continue,
                },
                _ => Value::new(),
            };
            own.set(&variable.name, value);
        }
        Ok(own)
    }

    /// For references in other values and in commands. A value that is no text cannot be referred to.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.bytes(name)
            .and_then(|value| str::from_utf8(value).ok())
    }

    /// For the runtime.
    pub(crate) fn into_pairs(self) -> Vec<KeyValue> {
        let pair = |(key, value)| KeyValue { key, value };
        self.0.into_iter().map(pair).collect()
    }

    fn bytes(&self, name: &str) -> Option<&[u8]> {
        let found = self.0.iter().find(|(each, _)| each == name);
        found.map(|(_, value)| value.as_slice())
    }

    fn set(&mut self, name: &str, value: Value) {
        match self.0.iter_mut().find(|(each, _)| each == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }
}

/// Values may be secret.
impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.0.iter().map(|(name, _)| name);
        f.debug_list().entries(names).finish()
    }
}

#[cfg(test)]
mod tests;
