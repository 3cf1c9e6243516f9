//! Records on disk, in the stock kubelet's format (Kubernetes 1.37): a node can go from the stock kubelet
//! to gpulet and back, and nobody loses or wins an image.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::super::docker::hex;

const VERSIONS: [&str; 2] = [
    "kubelet.config.k8s.io/v1beta1",
    "kubelet.config.k8s.io/v1alpha1",
];
const PREFIX: &str = "sha256-";
const TEMPORARY: &str = ".tmp";
/// Prefix of gpulet's own files, which the stock kubelet passes over.
const BEFORE: &str = "before-";

/// A kind of record.
pub(super) trait Kind: Serialize + DeserializeOwned {
    const KIND: &'static str;
    /// What the name of its file is made from.
    fn key(&self) -> &str;
}

/// An image is being pulled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PullIntent {
    /// As manifests write it.
    pub(super) image: String,
}

/// An image was pulled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PulledRecord {
    /// RFC 3339, in whole seconds.
    pub(super) last_updated_time: String,
    /// Reference of the runtime.
    pub(super) image_ref: String,
    /// With what it was pulled, by image as manifests write it, without tag and digest.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) credential_mapping: BTreeMap<String, Credentials>,
}

/// What an image was pulled with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Credentials {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) kubernetes_secrets: Vec<SecretRecord>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) kubernetes_service_accounts: Vec<AccountRecord>,
    /// It went without credentials, or with some that every pod of the node has.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) node_pods_accessible: bool,
}

/// A pull secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SecretRecord {
    pub(super) uid: String,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) credential_hash: String,
}

/// A ServiceAccount.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct AccountRecord {
    pub(super) uid: String,
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Kind for PullIntent {
    const KIND: &'static str = "ImagePullIntent";
    fn key(&self) -> &str {
        &self.image
    }
}

impl Kind for PulledRecord {
    const KIND: &'static str = "ImagePulledRecord";
    fn key(&self) -> &str {
        &self.image_ref
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Typed<T> {
    kind: String,
    api_version: String,
    #[serde(flatten)]
    body: T,
}

/// A folder of records.
#[derive(Clone, Debug)]
pub(super) struct Folder(PathBuf);

/// What a folder holds.
#[derive(Debug)]
pub(super) struct Content<T> {
    pub(super) records: Vec<T>,
    /// Names of files that are no such records.
    pub(super) unreadable: Vec<String>,
}

impl Folder {
    /// Makes it if it is not there.
    pub(super) fn open(path: PathBuf) -> io::Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&path)?;
        Ok(Self(path))
    }

    pub(super) fn read<T: Kind>(&self) -> io::Result<Content<T>> {
        let (mut records, mut unreadable) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(&self.0)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if !name.starts_with(PREFIX) || name.ends_with(TEMPORARY) {
                continue;
            }
            match read_file::<T>(&self.0.join(&name)) {
                // A record under another's name says nothing about either.
                Some(record) if file_name(record.key()) == name => records.push(record),
                _ => unreadable.push(name),
            }
        }
        Ok(Content {
            records,
            unreadable,
        })
    }

    /// Durable when it returns.
    pub(super) fn write<T: Kind>(&self, record: &T) -> io::Result<()> {
        let typed = Typed {
            kind: T::KIND.to_owned(),
            api_version: VERSIONS[0].to_owned(),
            body: record,
        };
        let mut text = serde_json::to_vec(&typed).map_err(io::Error::other)?;
        text.push(b'\n');
        self.write_file(&file_name(record.key()), &text)
    }

    pub(super) fn remove(&self, key: &str) -> io::Result<()> {
        remove_file(&self.0.join(file_name(key)))
    }

    /// Reference that the node had when a pull of `image` began.
    pub(super) fn before(&self, image: &str) -> Option<String> {
        fs::read_to_string(self.0.join(before_name(image))).ok()
    }

    pub(super) fn set_before(&self, image: &str, reference: Option<&str>) -> io::Result<()> {
        let name = before_name(image);
        match reference {
            Some(reference) => self.write_file(&name, reference.as_bytes()),
            None => remove_file(&self.0.join(name)),
        }
    }

    fn write_file(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let temporary = self.0.join(format!("{name}{TEMPORARY}"));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let written = options.open(&temporary).and_then(|mut file| {
            file.write_all(content)?;
            file.sync_all()?;
            fs::rename(&temporary, self.0.join(name))?;
            File::open(&self.0)?.sync_all()
        });
        if written.is_err() {
            // It failed already; what is left over is written over next time.
            drop(fs::remove_file(&temporary));
        }
        written
    }
}

fn read_file<T: Kind>(path: &Path) -> Option<T> {
    let typed: Typed<T> = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    let known = typed.kind == T::KIND && VERSIONS.contains(&&*typed.api_version);
    known.then_some(typed.body)
}

fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Name of the file of a record.
pub(super) fn file_name(key: &str) -> String {
    format!("{PREFIX}{}", hex(&Sha256::digest(key)))
}

fn before_name(image: &str) -> String {
    format!("{BEFORE}{}", hex(&Sha256::digest(image)))
}

#[cfg(test)]
mod tests;
