//! Pull secrets of a pod.

use std::collections::BTreeMap;

use agent_loops::ports::{CredentialOrigin, References, WantedPod};
use k8s_openapi::api::core::v1::Secret;

use super::docker::{self, Logins};
use super::index::Index;

/// Credentials in the pull secrets of a pod, in the order of the manifest.
pub(super) fn index(pod: &WantedPod, references: &References) -> Index {
    let mut index = Index::default();
    for name in names(pod) {
        if let Some(Ok(secret)) = references.secrets.get(name)
            && let Some(Ok(logins)) = logins(secret)
        {
            index.add(&logins, &origin(pod, name, secret));
        }
    }
    index
}

/// Pull secrets that are not there or hold nothing that can be read. One of another type is neither: it
/// has nothing to say about registries.
pub(super) fn missing(pod: &WantedPod, references: &References) -> Vec<String> {
    let usable = |name: &&str| match references.secrets.get(*name) {
        Some(Ok(secret)) => !matches!(logins(secret), Some(Err(_))),
        Some(Err(_)) | None => false,
    };
    let missing = names(pod).filter(|name| !usable(name));
    missing.map(str::to_owned).collect()
}

/// The API takes entries without a name, which mean nothing.
fn names(pod: &WantedPod) -> impl Iterator<Item = &str> {
    let spec = pod.manifest.spec.as_ref();
    let secrets = spec.and_then(|spec| spec.image_pull_secrets.as_ref());
    let names = secrets.into_iter().flatten();
    names
        .map(|secret| secret.name.as_str())
        .filter(|name| !name.is_empty())
}

/// `None`: not a pull secret.
fn logins(secret: &Secret) -> Option<Result<Logins, docker::NotDocker>> {
    let data = |key: &str| {
        let data = secret
            .data
            .as_ref()
            .and_then(|data: &BTreeMap<_, _>| data.get(key));
        data.map(|bytes| bytes.0.as_slice())
            .filter(|bytes| !bytes.is_empty())
    };
    match secret.type_.as_deref() {
        Some("kubernetes.io/dockerconfigjson") => {
            data(".dockerconfigjson").map(docker::config_json)
        }
        Some("kubernetes.io/dockercfg") => data(".dockercfg").map(docker::dockercfg),
        _ => None,
    }
}

fn origin(pod: &WantedPod, name: &str, secret: &Secret) -> CredentialOrigin {
    CredentialOrigin::Secret {
        uid: secret.metadata.uid.clone().unwrap_or_default(),
        namespace: pod.want.name.namespace.to_string(),
        name: name.to_owned(),
    }
}
