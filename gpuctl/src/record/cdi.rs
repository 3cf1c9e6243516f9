//! A CDI document on this machine.

use gpu_cdi::{Document, Edits};
use serde::Serialize;

/// One file of a CDI folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CdiFile {
    pub(crate) path: String,
    pub(crate) kind: String,
    pub(crate) cdi_version: String,
    pub(crate) devices: Vec<CdiDevice>,
    /// What every device of it adds.
    pub(crate) common: CdiEdits,
    /// Why it could not be read; `null` if it could.
    pub(crate) error: Option<String>,
}

/// One device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CdiDevice {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) edits: CdiEdits,
}

/// What a container gets: paths as it sees them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CdiEdits {
    pub(crate) device_nodes: Vec<String>,
    pub(crate) mounts: Vec<String>,
    /// Program and arguments, in one text.
    pub(crate) hooks: Vec<String>,
    pub(crate) env: Vec<String>,
}

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CdiCheck {
    pub(crate) path: String,
    pub(crate) kind: String,
    pub(crate) cdi_version: String,
    /// Names of its devices.
    pub(crate) devices: Vec<String>,
    /// Nothing if it is right.
    pub(crate) problems: Vec<String>,
}

impl CdiFile {
    pub(crate) fn new(path: String, document: Result<Document, String>) -> Self {
        match document {
            Ok(document) => Self {
                path,
                common: CdiEdits::from(&document.container_edits),
                kind: document.kind,
                cdi_version: document.cdi_version,
                devices: document.devices.into_iter().map(CdiDevice::from).collect(),
                error: None,
            },
            Err(error) => Self {
                path,
                error: Some(error),
                ..Self::default()
            },
        }
    }
}

impl From<gpu_cdi::Device> for CdiDevice {
    fn from(device: gpu_cdi::Device) -> Self {
        Self {
            edits: CdiEdits::from(&device.container_edits),
            name: device.name,
        }
    }
}

impl From<&Edits> for CdiEdits {
    fn from(edits: &Edits) -> Self {
        let hook = |hook: &gpu_cdi::Hook| match hook.args.is_empty() {
            true => hook.path.clone(),
            // The first argument is the program's own name.
            false => format!(
                "{} {}",
                hook.path,
                hook.args.get(1..).unwrap_or_default().join(" ")
            ),
        };
        Self {
            device_nodes: edits
                .device_nodes
                .iter()
                .map(|node| node.path.clone())
                .collect(),
            mounts: edits
                .mounts
                .iter()
                .map(|mount| mount.container_path.clone())
                .collect(),
            hooks: edits.hooks.iter().map(hook).collect(),
            env: edits.env.clone(),
        }
    }
}

impl From<gpu_cdi::FileReport> for CdiCheck {
    fn from(report: gpu_cdi::FileReport) -> Self {
        Self {
            path: report.path.display().to_string(),
            kind: report.kind,
            cdi_version: report.version,
            devices: report.devices,
            problems: report.problems,
        }
    }
}
