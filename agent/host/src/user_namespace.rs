//! Ranges of IDs for user namespaces of pods.
//!
//! A pod's range is in the file `userns` in its folder, in the stock kubelet's format: the folders are
//! the only memory, so that a range is free when the folder of its pod is gone, and a node can change
//! hands.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use agent_loops::ports::IdRange;
use serde::{Deserialize, Serialize};

const FILE: &str = "userns";
const TEMPORARY: &str = ".userns.tmp";
/// Ranges are multiples of this.
const UNIT: u32 = 65_536;
/// User whose subordinate IDs pods get, if the node has it (Kubernetes 1.37).
const USER: &str = "kubelet";

/// How the node's IDs are dealt out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserNamespaceSettings {
    /// `userNamespaces.idsPerPod`: a multiple of 65536.
    pub ids_per_pod: u32,
    /// `maxPods`: there has to be a range for each.
    pub max_pods: u32,
}

/// The stock defaults.
impl Default for UserNamespaceSettings {
    fn default() -> Self {
        Self {
            ids_per_pod: UNIT,
            max_pods: 110,
        }
    }
}

/// IDs of one node.
#[derive(Debug)]
pub(crate) struct UserNamespaces {
    /// `<root>/pods`.
    pods: PathBuf,
    settings: UserNamespaceSettings,
    /// IDs of the node, found when the first pod asks.
    node: OnceLock<IdRange>,
    // Held over a look and a write, so that no two pods find the same range free. Callers are on threads
    // that may block.
    dealing: Mutex<()>,
}

/// Why a pod gets no range.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UserNamespaceError {
    #[error("{path} cannot be read or written")]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "{path} is no range of IDs of this node; remove it, if no container of the pod is left"
    )]
    Content { path: PathBuf },
    #[error("every range of IDs is taken: allow fewer pods, or more IDs for the user {USER}")]
    Full,
    #[error("IDs of the user {USER}: {0}")]
    Node(String),
}

/// The stock file: one mapping for users and the same for groups.
#[derive(Serialize, Deserialize)]
struct Mappings {
    #[serde(rename = "uidMappings")]
    uids: Vec<Mapping>,
    #[serde(rename = "gidMappings")]
    gids: Vec<Mapping>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Mapping {
    #[serde(rename = "hostId")]
    host: u32,
    #[serde(rename = "containerId")]
    container: u32,
    length: u32,
}

impl UserNamespaces {
    pub(crate) fn new(pods: PathBuf, settings: UserNamespaceSettings) -> Self {
        let ids_per_pod = settings.ids_per_pod.max(UNIT);
        Self {
            pods,
            settings: UserNamespaceSettings {
                ids_per_pod,
                ..settings
            },
            node: OnceLock::new(),
            dealing: Mutex::default(),
        }
    }

    /// The range of the pod whose folder this is, a new one if it has none. The folder has to be there.
    pub(crate) fn of_pod(&self, folder: &Path) -> Result<IdRange, UserNamespaceError> {
        let _dealing = self.dealing.lock().unwrap_or_else(PoisonError::into_inner);
        let node = self.node()?;
        let file = folder.join(FILE);
        if let Some(range) = read(&file)? {
            let fits = self.index(node, range).is_some();
            return fits
                .then_some(range)
                .ok_or(UserNamespaceError::Content { path: file });
        }
        let taken = self.taken(node)?;
        let length = self.settings.ids_per_pod;
        let free = (0..node.length / length).find(|index| !taken.contains(index));
        let range = IdRange {
            first: node.first + free.ok_or(UserNamespaceError::Full)? * length,
            length,
        };
        write(folder, range).map_err(|source| UserNamespaceError::File { path: file, source })?;
        Ok(range)
    }

    /// Numbers of the ranges that pods have.
    fn taken(&self, node: IdRange) -> Result<BTreeSet<u32>, UserNamespaceError> {
        let failed = |source| UserNamespaceError::File {
            path: self.pods.clone(),
            source,
        };
        let mut taken = BTreeSet::new();
        for entry in fs::read_dir(&self.pods).map_err(failed)? {
            let file = entry.map_err(failed)?.path().join(FILE);
            match read(&file) {
                Ok(Some(range)) => taken.extend(self.index(node, range)),
                Ok(None) => {}
                // Nobody knows which IDs its processes have, so that any range may be theirs.
                Err(error) => return Err(error),
            }
        }
        Ok(taken)
    }

    /// Number of a range; `None` if it is not one that this node deals out.
    fn index(&self, node: IdRange, range: IdRange) -> Option<u32> {
        let length = self.settings.ids_per_pod;
        let offset = range.first.checked_sub(node.first)?;
        let index = offset / length;
        let fits = range.length == length && offset % length == 0 && index < node.length / length;
        fits.then_some(index)
    }

    fn node(&self) -> Result<IdRange, UserNamespaceError> {
        if let Some(node) = self.node.get() {
            return Ok(*node);
        }
        let length = self.settings.ids_per_pod;
        let node = subordinate_ids()?.unwrap_or(IdRange {
            first: length,
            length: u32::MAX - length + 1,
        });
        let wrong = |what: String| Err(UserNamespaceError::Node(what));
        // The host's own IDs are in the first range: never in a pod's.
        if node.first < length || node.first % length != 0 || node.length % length != 0 {
            return wrong(format!(
                "{} from {} on are no whole ranges of {length}",
                node.length, node.first
            ));
        }
        if node.length / length < self.settings.max_pods {
            return wrong(format!("not enough for {} pods", self.settings.max_pods));
        }
        Ok(*self.node.get_or_init(|| node))
    }
}

fn read(file: &Path) -> Result<Option<IdRange>, UserNamespaceError> {
    let text = match fs::read(file) {
        Ok(text) if text.is_empty() => return Ok(None),
        Ok(text) => text,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(source) => {
            let path = file.to_owned();
            return Err(UserNamespaceError::File { path, source });
        }
    };
    let mappings: Option<Mappings> = serde_json::from_slice(&text).ok();
    let range = mappings.and_then(|mappings| match (&*mappings.uids, &*mappings.gids) {
        ([uids], [gids]) if uids == gids && uids.container == 0 => Some(IdRange {
            first: uids.host,
            length: uids.length,
        }),
        _ => None,
    });
    match range {
        Some(range) => Ok(Some(range)),
        None => Err(UserNamespaceError::Content {
            path: file.to_owned(),
        }),
    }
}

/// Durable when it returns: processes will have these IDs.
fn write(folder: &Path, range: IdRange) -> io::Result<()> {
    let mapping = Mapping {
        host: range.first,
        container: 0,
        length: range.length,
    };
    let mappings = Mappings {
        uids: vec![mapping],
        gids: vec![mapping],
    };
    let text = serde_json::to_vec(&mappings).map_err(io::Error::other)?;
    let temporary = folder.join(TEMPORARY);
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(&temporary)?;
    file.write_all(&text)?;
    file.sync_all()?;
    fs::rename(&temporary, folder.join(FILE))?;
    File::open(folder)?.sync_all()
}

/// Subordinate IDs of the user, if there is one and a program that can say.
fn subordinate_ids() -> Result<Option<IdRange>, UserNamespaceError> {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let known = users
        .lines()
        .any(|line| line.split(':').next() == Some(USER));
    if !known {
        return Ok(None);
    }
    let ask = |arguments: &[&str]| match Command::new("getsubids").args(arguments).output() {
        Ok(output) if output.status.success() => {
            Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned()))
        }
        Ok(output) => Err(UserNamespaceError::Node(format!(
            "getsubids ended with {}",
            output.status
        ))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(UserNamespaceError::Node(format!("getsubids: {error}"))),
    };
    match (ask(&[USER])?, ask(&["-g", USER])?) {
        (Some(users), Some(groups)) => range_in(&users, &groups).map(Some),
        _ => Ok(None),
    }
}

/// The range in two answers of `getsubids`, each one line like `0: kubelet 65536 2147483648`.
fn range_in(users: &str, groups: &str) -> Result<IdRange, UserNamespaceError> {
    let words: Vec<&str> = users.split_whitespace().collect();
    let range = match words.as_slice() {
        [_, _, first, length] if users == groups => first
            .parse()
            .ok()
            .zip(length.parse().ok())
            .map(|(first, length)| IdRange { first, length }),
        _ => None,
    };
    range.ok_or_else(|| {
        let what = "getsubids has to give one range, the same for users and groups";
        UserNamespaceError::Node(what.to_owned())
    })
}

#[cfg(test)]
mod tests;
