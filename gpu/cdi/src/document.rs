//! The document's types, as the Container Device Interface specification defines them (up to 0.7.0).

use serde::{Deserialize, Serialize};

/// One CDI document: devices of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Document {
    /// Version of the specification, for instance `0.5.0`.
    pub cdi_version: String,
    /// `vendor/class`.
    pub kind: String,
    /// Devices, by name.
    pub devices: Vec<Device>,
    /// Edits for every container that gets any of the devices.
    #[serde(default, skip_serializing_if = "Edits::is_empty")]
    pub container_edits: Edits,
}

/// One device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Device {
    /// Name within the kind.
    pub name: String,
    /// Edits for a container that gets it.
    #[serde(default)]
    pub container_edits: Edits,
}

/// What is done to a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Edits {
    /// `NAME=value`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Device nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub device_nodes: Vec<DeviceNode>,
    /// Programs that the runtime runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<Hook>,
    /// Mounts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<Mount>,
    /// Groups that the container's first process joins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additional_gids: Vec<u32>,
}

/// A device node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceNode {
    /// Path in the container.
    pub path: String,
    /// Path on the host, where it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_path: Option<String>,
    /// `c` or `b`.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Major number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub major: Option<i64>,
    /// Minor number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minor: Option<i64>,
    /// Permission bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_mode: Option<u32>,
    /// What the device rules allow: of `r`, `w` and `m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<String>,
    /// Owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// Group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gid: Option<u32>,
}

/// A mount.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mount {
    /// Path on the host.
    pub host_path: String,
    /// Path in the container.
    pub container_path: String,
    /// Mount options.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// File system type.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// A program that the runtime runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hook {
    /// When: the OCI runtime specification's name, for instance `createContainer`.
    pub hook_name: String,
    /// Program.
    pub path: String,
    /// Arguments, the program's name first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Its environment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Seconds after which the runtime gives up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<i64>,
}

impl Edits {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Document {
    /// The edits of the document and of all its devices.
    pub fn all_edits(&self) -> impl Iterator<Item = &Edits> {
        let devices = self.devices.iter().map(|device| &device.container_edits);
        std::iter::once(&self.container_edits).chain(devices)
    }

    /// The device of this name.
    pub fn device(&self, name: &str) -> Option<&Device> {
        self.devices.iter().find(|device| device.name == name)
    }

    /// The lowest version of the specification that has everything this document uses: a runtime refuses documents
    /// that are newer than it is. 0.4.0 brought the type of mounts; 0.5.0 host paths of nodes and
    /// device names that begin with a digit; 0.7.0 additional groups.
    pub fn lowest_version(&self) -> &'static str {
        let digit = |name: &str| name.starts_with(|c: char| c.is_ascii_digit());
        let nodes = || self.all_edits().flat_map(|edits| &edits.device_nodes);
        if self
            .all_edits()
            .any(|edits| !edits.additional_gids.is_empty())
        {
            "0.7.0"
        } else if self.devices.iter().any(|device| digit(&device.name))
            || nodes().any(|node| node.host_path.is_some())
        {
            "0.5.0"
        } else if self
            .all_edits()
            .flat_map(|edits| &edits.mounts)
            .any(|mount| mount.kind.is_some())
        {
            "0.4.0"
        } else {
            "0.3.0"
        }
    }
}
