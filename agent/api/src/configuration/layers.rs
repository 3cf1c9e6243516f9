//! Main file, drop-ins and flags into one configuration. Later ones are stronger.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::KubeletConfiguration;
use super::acted;
use super::check;
use super::field::Report;
use crate::document::{self, DocumentError};
use crate::problem::{self, Problem};

pub(super) const API_VERSION: &str = "kubelet.config.k8s.io/v1beta1";
pub(super) const KIND: &str = "KubeletConfiguration";

/// Fields that are paths. A relative one is relative to the folder of the main file.
const PATHS: &[&str] = &[
    "/staticPodPath",
    "/authentication/x509/clientCAFile",
    "/tlsCertFile",
    "/tlsPrivateKeyFile",
    "/resolvConf",
    "/volumePluginDir",
    "/podLogsDir",
];

/// Where settings come from, weakest first.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// `--config`.
    pub file: Option<PathBuf>,
    /// `--config-dir`: every `*.conf` in it and below, in lexical order.
    pub drop_ins: Option<PathBuf>,
    /// What flags say, as a document of the same form; `null` or an empty mapping for none.
    pub flags: Value,
}

/// A configuration that can be used.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The settings.
    pub configuration: KubeletConfiguration,
    /// What an operator should know: unknown fields, settings without effect.
    pub warnings: Vec<String>,
}

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigurationError {
    /// A file or folder cannot be read.
    #[error("{path} cannot be read")]
    Read {
        /// Which.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// A file is neither YAML nor JSON.
    #[error("{path} is not YAML or JSON")]
    Document {
        /// Which.
        path: PathBuf,
        /// Where and what.
        #[source]
        source: DocumentError,
    },
    /// A file is something else.
    #[error(
        "{path} has apiVersion {api_version:?} and kind {kind:?}, it must have {API_VERSION:?} and \
         {KIND:?}"
    )]
    Kind {
        /// Which.
        path: PathBuf,
        /// What it says.
        api_version: String,
        /// What it says.
        kind: String,
    },
    /// Settings with wrong values, all of them.
    #[error("the configuration has wrong values: {}", problem::join(.0))]
    Values(Vec<Problem>),
}

/// Reads all layers, applies defaults and checks every value.
pub fn load(layers: &Layers) -> Result<Loaded, ConfigurationError> {
    let mut merged = match &layers.file {
        Some(path) => with_absolute_paths(read_file(path)?, path),
        None => Value::Object(Map::new()),
    };
    for path in layers
        .drop_ins
        .as_deref()
        .map(drop_ins)
        .transpose()?
        .unwrap_or_default()
    {
        merge(&mut merged, read_file(&path)?);
    }
    lay_flags_over(&mut merged, layers.flags.clone());
    let mut report = Report::default();
    let mut map = match merged {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    map.remove("apiVersion");
    map.remove("kind");
    let configuration = KubeletConfiguration::take(&mut map, &mut report);
    report.unknown.extend(map.into_iter().map(|(key, _)| key));
    report.problems.extend(check::all(&configuration));
    if !report.problems.is_empty() {
        return Err(ConfigurationError::Values(report.problems));
    }
    let warnings = warnings(&report.unknown, &configuration);
    Ok(Loaded {
        configuration,
        warnings,
    })
}

fn warnings(unknown: &[String], configuration: &KubeletConfiguration) -> Vec<String> {
    let mut warnings = Vec::new();
    if !unknown.is_empty() {
        warnings.push(format!(
            "fields that do not exist are ignored: {}",
            unknown.join(", ")
        ));
    }
    let idle = acted::idle(configuration);
    if !idle.is_empty() {
        warnings.push(format!(
            "fields that are set but have no effect in this version: {}",
            idle.join(", ")
        ));
    }
    warnings
}

fn read_file(path: &Path) -> Result<Value, ConfigurationError> {
    let bytes = fs::read(path).map_err(|source| ConfigurationError::Read {
        path: path.to_owned(),
        source,
    })?;
    let value = document::read(&bytes)
        .map_err(|source| ConfigurationError::Document {
            path: path.to_owned(),
            source,
        })?
        .value;
    let text = |key: &str| {
        value
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if api_version != API_VERSION || kind != KIND {
        return Err(ConfigurationError::Kind {
            path: path.to_owned(),
            api_version,
            kind,
        });
    }
    Ok(value)
}

fn with_absolute_paths(mut document: Value, file: &Path) -> Value {
    let folder = file.parent().unwrap_or_else(|| Path::new("."));
    for pointer in PATHS {
        if let Some(Value::String(path)) = document.pointer_mut(pointer)
            && !path.is_empty()
        {
            *path = folder.join(&*path).to_string_lossy().into_owned();
        }
    }
    document
}

/// Drop-in files below `folder` in the order the stock kubelet walks: by name, folders inside too.
fn drop_ins(folder: &Path) -> Result<Vec<PathBuf>, ConfigurationError> {
    let failed = |source| ConfigurationError::Read {
        path: folder.to_owned(),
        source,
    };
    let entries = fs::read_dir(folder).map_err(failed)?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<_>>>()
        .map_err(failed)?;
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() && !path.is_symlink() {
            files.extend(drop_ins(&path)?);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "conf")
        {
            files.push(path);
        }
    }
    Ok(files)
}

/// Fields whose pairs a flag replaces as a whole. Those of the other mappings (feature gates, groups of
/// settings) it merges.
const REPLACED: &[&str] = &[
    "cpuManagerPolicyOptions",
    "evictionHard",
    "evictionMinimumReclaim",
    "evictionSoft",
    "evictionSoftGracePeriod",
    "kubeReserved",
    "qosReserved",
    "systemReserved",
    "topologyManagerPolicyOptions",
];

fn lay_flags_over(document: &mut Value, flags: Value) {
    let Some(map) = document.as_object_mut() else {
        return;
    };
    for field in REPLACED.iter().filter(|field| flags.get(field).is_some()) {
        map.remove(*field);
    }
    if flags.is_object() {
        merge(document, flags);
    }
}

/// JSON merge patch (RFC 7386): mappings merge, everything else replaces, `null` removes.
fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else {
        return;
    };
    for (key, value) in patch {
        if value.is_null() {
            target.remove(&key);
        } else {
            merge(target.entry(key).or_insert(Value::Null), value);
        }
    }
}
