//! Docker configuration of the node.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use agent_loops::ports::CredentialOrigin;

use super::docker::{self, Logins, NotDocker};
use super::index::Index;

/// Where the node's configuration may lie, the first that can be read counts: `config.json` and then the
/// older `.dockercfg`, each in the root directory, the working directory, the home and `/`.
#[derive(Clone, Debug)]
pub(super) struct NodeFiles(Vec<(PathBuf, Format)>);

#[derive(Clone, Copy, Debug)]
enum Format {
    ConfigJson,
    Dockercfg,
}

impl NodeFiles {
    pub(super) fn new(root: &Path, home: Option<&Path>) -> Self {
        let here = std::env::current_dir().ok();
        let plain = [Some(root), here.as_deref(), home, Some(Path::new("/"))];
        let mut files = Vec::new();
        for (place, folder) in plain.into_iter().enumerate() {
            // Docker keeps the new file of a user in a folder of its own.
            let inner = if place < 2 { "" } else { ".docker" };
            files.extend(folder.map(|folder| folder.join(inner).join("config.json")));
        }
        let new = files.into_iter().map(|path| (path, Format::ConfigJson));
        let old = plain.into_iter().flatten();
        let old = old.map(|folder| (folder.join(".dockercfg"), Format::Dockercfg));
        Self(new.chain(old).collect())
    }

    /// Read each time: the files are small, and a login that was set right counts at once.
    pub(super) async fn index(&self) -> Index {
        let files = self.clone();
        let read = tokio::task::spawn_blocking(move || files.read()).await;
        read.unwrap_or_default()
    }

    fn read(&self) -> Index {
        let mut index = Index::default();
        if let Some(logins) = self.0.iter().find_map(|(path, format)| read(path, *format)) {
            index.add(&logins, &CredentialOrigin::Node);
        }
        index
    }
}

fn read(path: &Path, format: Format) -> Option<Logins> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            if error.kind() != ErrorKind::NotFound && error.kind() != ErrorKind::NotADirectory {
                tracing::warn!(path = %path.display(), %error, "registry logins cannot be read");
            }
            return None;
        }
    };
    let read: fn(&[u8]) -> Result<Logins, NotDocker> = match format {
        Format::ConfigJson => docker::config_json,
        Format::Dockercfg => docker::dockercfg,
    };
    match read(&bytes) {
        Ok(logins) => Some(logins),
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "registry logins cannot be used");
            None
        }
    }
}
