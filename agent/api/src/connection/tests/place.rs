//! A node's folders.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base_daemon::Drain;

use super::api::{Api, encode};
use crate::connection::{Connection, ConnectionSettings, Rate};

pub(super) struct Place {
    pub(super) folder: tempfile::TempDir,
    pub(super) api: Arc<Api>,
}

impl Place {
    pub(super) fn new(api: &Arc<Api>) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            api: Arc::clone(api),
        }
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a kubeconfig whose user is as given, in YAML flow style.
    pub(super) fn kubeconfig(&self, name: &str, user: &str) {
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
             contexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
             clusters: [{{name: k, cluster: {{server: \"https://{}\", certificate-authority-data: {}}}}}]\n\
             users: [{{name: u, user: {user}}}]\n",
            self.api.address,
            encode(self.api.authority().as_bytes())
        );
        fs::write(self.file(name), text).unwrap();
    }

    /// Writes a kubeconfig with a certificate in it.
    pub(super) fn certified(&self, name: &str, pair: &(String, String)) {
        let user = format!(
            "{{client-certificate-data: {}, client-key-data: {}}}",
            encode(pair.0.as_bytes()),
            encode(pair.1.as_bytes())
        );
        self.kubeconfig(name, &user);
    }

    pub(super) fn settings(&self, rotate: bool) -> ConnectionSettings {
        let bootstrap = self.file("bootstrap");
        ConnectionSettings {
            kubeconfig: self.file("kubeconfig"),
            bootstrap: bootstrap.exists().then_some(bootstrap),
            cert_dir: self.file("pki"),
            node: "n1".to_owned(),
            rotate,
            rate: Rate {
                per_second: 50.0,
                burst: 100,
            },
            version: "v1.37.2+test".to_owned(),
        }
    }
}

/// Opens and maintains until the drain is dropped or begun.
pub(super) async fn kept(settings: ConnectionSettings) -> (Connection, Drain) {
    let connection = Connection::open(settings).await.unwrap();
    let drain = Drain::default();
    base_daemon::spawn("maintain", connection.clone().maintain(drain.guard()));
    (connection, drain)
}

/// Who the API server takes us for: `CN#SERIAL`.
pub(super) async fn identity(connection: &Connection) -> String {
    let version = connection.client().apiserver_version().await.unwrap();
    version.git_version
}

pub(super) fn mode(file: &Path) -> u32 {
    fs::metadata(file).unwrap().permissions().mode() & 0o777
}
