//! Configuration of credential providers (`CredentialProviderConfig`, kubelet.config.k8s.io).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use agent_loops::ports::ServiceAccount;
use serde::{Deserialize, Deserializer};

use super::duration;

/// The API version for tokens; the older ones do not know them.
const V1: &str = "credentialprovider.kubelet.k8s.io/v1";
const API_VERSIONS: [&str; 3] = [
    V1,
    "credentialprovider.kubelet.k8s.io/v1beta1",
    "credentialprovider.kubelet.k8s.io/v1alpha1",
];

/// Why the providers cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// A file or folder.
    #[error("{path} cannot be read")]
    Read {
        /// Which.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// A folder without a configuration.
    #[error("folder {path} has no file that ends in .json, .yaml or .yml")]
    Empty {
        /// Which.
        path: PathBuf,
    },
    /// A file that is no configuration.
    #[error("{path}: {message}")]
    Content {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// A provider that cannot work.
    #[error("provider {name:?}: {message}")]
    Provider {
        /// Which.
        name: String,
        /// What has to be changed.
        message: String,
    },
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct File {
    api_version: String,
    kind: String,
    #[serde(default)]
    providers: Vec<ProviderConfig>,
}

/// One provider.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ProviderConfig {
    pub(super) name: String,
    #[serde(default)]
    pub(super) match_images: Vec<String>,
    #[serde(deserialize_with = "go_duration")]
    pub(super) default_cache_duration: Duration,
    #[serde(default)]
    pub(super) api_version: String,
    #[serde(default)]
    pub(super) args: Vec<String>,
    #[serde(default)]
    pub(super) env: Vec<Variable>,
    pub(super) token_attributes: Option<TokenAttributes>,
}

/// A variable of a provider's environment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Variable {
    pub(super) name: String,
    #[serde(default)]
    pub(super) value: String,
}

/// What a provider wants to know of the pod's ServiceAccount.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct TokenAttributes {
    pub(super) service_account_token_audience: String,
    cache_type: CacheType,
    pub(super) require_service_account: bool,
    #[serde(default)]
    required_service_account_annotation_keys: Vec<String>,
    #[serde(default)]
    optional_service_account_annotation_keys: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
enum CacheType {
    Token,
    ServiceAccount,
}

impl TokenAttributes {
    /// Answers are good for one token only.
    pub(super) fn per_token(&self) -> bool {
        self.cache_type == CacheType::Token
    }

    /// Annotations that the provider is told; `None` if a required one is missing.
    pub(super) fn annotations(&self, account: &ServiceAccount) -> Option<BTreeMap<String, String>> {
        let get = |key: &String| Some((key.clone(), account.annotations.get(key)?.clone()));
        let required = &self.required_service_account_annotation_keys;
        let optional = &self.optional_service_account_annotation_keys;
        let mut all: BTreeMap<_, _> = required.iter().map(get).collect::<Option<_>>()?;
        all.extend(optional.iter().filter_map(get));
        Some(all)
    }
}

fn go_duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    duration::parse(&text).ok_or_else(|| {
        serde::de::Error::custom(format!("{text:?} is no duration; write for instance 10m"))
    })
}

/// Reads one file, or all of a folder in the order of their names.
pub(super) fn read(path: &Path) -> Result<Vec<ProviderConfig>, ProviderError> {
    let mut names = BTreeSet::new();
    let mut all = Vec::new();
    for file in files(path)? {
        for provider in read_file(&file)? {
            check(&provider).map_err(|message| refused(&provider, &message))?;
            if !names.insert(provider.name.clone()) {
                return Err(refused(&provider, "its name is there twice"));
            }
            all.push(provider);
        }
    }
    Ok(all)
}

fn refused(provider: &ProviderConfig, message: &str) -> ProviderError {
    ProviderError::Provider {
        name: provider.name.clone(),
        message: message.to_owned(),
    }
}

fn files(path: &Path) -> Result<Vec<PathBuf>, ProviderError> {
    let error = |source| ProviderError::Read {
        path: path.to_owned(),
        source,
    };
    if !fs::metadata(path).map_err(error)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(error)? {
        let file = entry.map_err(error)?.path();
        let ending = file.extension().and_then(|ending| ending.to_str());
        if matches!(ending, Some("json" | "yaml" | "yml")) && !file.is_dir() {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(ProviderError::Empty {
            path: path.to_owned(),
        });
    }
    Ok(files)
}

fn read_file(path: &Path) -> Result<Vec<ProviderConfig>, ProviderError> {
    let text = fs::read_to_string(path).map_err(|source| ProviderError::Read {
        path: path.to_owned(),
        source,
    })?;
    let content = |message: String| ProviderError::Content {
        path: path.to_owned(),
        message,
    };
    let mut options = serde_saphyr::Options::default();
    options.with_snippet = false;
    let file: File = serde_saphyr::from_str_with_options(&text, options)
        .map_err(|error| content(error.to_string()))?;
    let known = [
        "kubelet.config.k8s.io/v1",
        "kubelet.config.k8s.io/v1beta1",
        "kubelet.config.k8s.io/v1alpha1",
    ];
    if file.kind != "CredentialProviderConfig" || !known.contains(&&*file.api_version) {
        return Err(content(format!(
            "it is a {} of {}, needed is a CredentialProviderConfig of kubelet.config.k8s.io/v1",
            file.kind, file.api_version
        )));
    }
    if file.providers.is_empty() {
        return Err(content("it names no providers".to_owned()));
    }
    Ok(file.providers)
}

fn check(provider: &ProviderConfig) -> Result<(), String> {
    let name = &provider.name;
    if name.is_empty() || name.contains(['/', ' ']) || name == "." || name == ".." {
        return Err("the name has to be that of a program, without path and blanks".to_owned());
    }
    if !API_VERSIONS.contains(&&*provider.api_version) {
        return Err(format!("apiVersion {:?}: write {V1}", provider.api_version));
    }
    if provider.match_images.is_empty() {
        return Err("matchImages is empty, so it would never be asked".to_owned());
    }
    let Some(attributes) = &provider.token_attributes else {
        return Ok(());
    };
    let required = &attributes.required_service_account_annotation_keys;
    let optional = &attributes.optional_service_account_annotation_keys;
    let keys: BTreeSet<&String> = required.iter().chain(optional).collect();
    if attributes.service_account_token_audience.is_empty() {
        Err("tokenAttributes.serviceAccountTokenAudience is empty".to_owned())
    } else if provider.api_version != V1 {
        Err(format!("tokenAttributes need apiVersion {V1}"))
    } else if !attributes.require_service_account && !required.is_empty() {
        Err("tokenAttributes: required annotations need requireServiceAccount: true".to_owned())
    } else if keys.len() != required.len() + optional.len() {
        Err("tokenAttributes: an annotation key is there twice".to_owned())
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
