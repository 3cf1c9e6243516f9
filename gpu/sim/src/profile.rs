//! Machine profiles: data files that say what a kind of machine looks like, and a state made from one.

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use crate::state::{EventLog, FORMAT, Gpu, Link, MigProfile, Node, RemoteKind, State, Text};
use crate::uuid;

/// Names and contents of the profiles that come with the simulator.
const BUILT_IN: &[(&str, &str)] = &[
    ("h200x8", include_str!("../profiles/h200x8.yaml")),
    ("h100x8", include_str!("../profiles/h100x8.yaml")),
    ("b200x8", include_str!("../profiles/b200x8.yaml")),
    ("gb200x4", include_str!("../profiles/gb200x4.yaml")),
    ("a100-80x8", include_str!("../profiles/a100-80x8.yaml")),
    ("a100-40x8", include_str!("../profiles/a100-40x8.yaml")),
    ("a100-pciex4", include_str!("../profiles/a100-pciex4.yaml")),
    ("v100x8", include_str!("../profiles/v100x8.yaml")),
    ("l40sx4", include_str!("../profiles/l40sx4.yaml")),
    ("t4x1", include_str!("../profiles/t4x1.yaml")),
];

/// A kind of machine.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Where the layout is described in public, and which values are made up.
    pub source: String,
    /// Values of the whole machine.
    node: Node,
    /// Rows of the matrix of `nvidia-smi topo -m`, PCI only.
    topology: Vec<String>,
    #[serde(default)]
    nvlink: Option<NvLinks>,
    #[serde(default)]
    mig_profiles: Vec<MigProfile>,
    /// What all GPUs have in common, with the keys of [`Gpu`].
    gpu: Value,
    /// What each GPU has of its own, with the same keys.
    gpus: Vec<Value>,
}

/// How NVLinks join the GPUs: through switches, or to each other.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct NvLinks {
    version: u32,
    speed_mbps: u32,
    /// Switches, each with the number of links that every GPU has to it.
    #[serde(default)]
    switches: Vec<Switch>,
    /// Number of links between each pair of GPUs.
    #[serde(default)]
    peers: Vec<Vec<u32>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Switch {
    address: String,
    links: u32,
}

/// Why a profile cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// There is none by that name.
    #[error("no profile {name}; there are: {}", names().collect::<Vec<_>>().join(", "))]
    Unknown {
        /// The name asked for.
        name: String,
    },
    /// The file is no profile.
    #[error("profile {name} is not valid: {message}")]
    Invalid {
        /// Name of the profile.
        name: String,
        /// What is wrong and where.
        message: String,
    },
}

/// Names of the profiles that come with the simulator.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

impl Profile {
    /// The profile by that name.
    ///
    /// # Errors
    /// There is none.
    pub fn named(name: &str) -> Result<Self, ProfileError> {
        let found = BUILT_IN.iter().find(|(known, _)| *known == name);
        let unknown = || ProfileError::Unknown {
            name: name.to_owned(),
        };
        let (_, content) = found.ok_or_else(unknown)?;
        serde_saphyr::from_str(content).map_err(|error| invalid(name, &error.to_string()))
    }

    /// A machine of this kind. The same name and seed give the same UUIDs and serial numbers.
    ///
    /// # Errors
    /// The description of a GPU is not valid.
    pub fn machine(&self, name: &str, seed: u64) -> Result<State, ProfileError> {
        let mut gpus = Vec::new();
        for (minor, own) in (0..).zip(&self.gpus) {
            let mut values = self.gpu.clone();
            merge(&mut values, own);
            let gpu: Gpu = serde_json::from_value(values)
                .map_err(|error| invalid(name, &format!("GPU {minor}: {error}")))?;
            gpus.push(with_identity(gpu, name, seed, minor));
        }
        if let Some(nvlink) = &self.nvlink {
            join(&mut gpus, nvlink);
        }
        let rows = self.topology.iter();
        Ok(State {
            format: FORMAT,
            node: Node {
                profile: name.to_owned(),
                source: self.source.trim().to_owned(),
                seed,
                ..self.node.clone()
            },
            topology: rows
                .map(|row| row.split_whitespace().map(str::to_owned).collect())
                .collect(),
            mig_profiles: self.mig_profiles.clone(),
            gpus,
            faults: Vec::new(),
            events: EventLog::default(),
        })
    }
}

fn invalid(name: &str, message: &str) -> ProfileError {
    ProfileError::Invalid {
        name: name.to_owned(),
        message: message.to_owned(),
    }
}

/// Lays `own` over `values`, key by key.
fn merge(values: &mut Value, own: &Value) {
    match (values, own) {
        (Value::Object(values), Value::Object(own)) => {
            for (key, value) in own {
                merge(values.entry(key).or_insert(Value::Null), value);
            }
        }
        (values, own) => *values = own.clone(),
    }
}

fn with_identity(gpu: Gpu, profile: &str, seed: u64, minor: u32) -> Gpu {
    let id = uuid::from_words(&[profile, &seed.to_string(), &minor.to_string()]);
    let digits = uuid::to_bytes(&id).iter().fold(0_u64, |number, byte| {
        number.wrapping_mul(256).wrapping_add(u64::from(*byte))
    });
    Gpu {
        minor,
        present: true,
        uuid: Text::from(format!("GPU-{id}")),
        // 13 digits, as serial numbers of boards have.
        serial: Text::from(format!("165{:010}", digits % 10_000_000_000)),
        ..gpu
    }
}

fn join(gpus: &mut [Gpu], nvlink: &NvLinks) {
    let link = |remote, address: &str, remote_link| Link {
        active: true,
        version: nvlink.version,
        speed_mbps: nvlink.speed_mbps,
        remote,
        remote_pci: Text::from(address),
        remote_link,
        ..Link::default()
    };
    for (minor, gpu) in (0..).zip(gpus.iter_mut()) {
        for switch in &nvlink.switches {
            let ports = minor * switch.links..(minor + 1) * switch.links;
            gpu.nvlinks
                .extend(ports.map(|port| link(RemoteKind::Switch, &switch.address, port)));
        }
    }
    for (from, to, number) in pairs(&nvlink.peers) {
        for _ in 0..number {
            let number_at =
                |at: usize, gpus: &[Gpu]| gpus.get(at).map_or(0, |gpu| gpu.nvlinks.len());
            let address_of = |at: usize, gpus: &[Gpu]| {
                gpus.get(at)
                    .map_or(String::new(), |gpu| gpu.pci.address.to_string())
            };
            let here = (number_at(from, gpus), address_of(from, gpus));
            let there = (number_at(to, gpus), address_of(to, gpus));
            for (at, far) in [(from, there), (to, here)] {
                if let Some(gpu) = gpus.get_mut(at) {
                    let remote_link = u32::try_from(far.0).unwrap_or(u32::MAX);
                    gpu.nvlinks.push(link(RemoteKind::Gpu, &far.1, remote_link));
                }
            }
        }
    }
}

/// Each pair of GPUs once, with the number of links between them.
fn pairs(peers: &[Vec<u32>]) -> impl Iterator<Item = (usize, usize, u32)> {
    peers.iter().enumerate().flat_map(|(from, row)| {
        let later = row.iter().enumerate().skip(from + 1);
        later.map(move |(to, number)| (from, to, *number))
    })
}

#[cfg(test)]
mod tests;
