//! Who talks to the API server: the cluster's authorities, certificates and kubeconfigs, all in one folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::certificates::{Authority, Pair, Use, write_token_key};
use crate::agent::HOSTNAME;
use crate::netns::NODE_ADDRESS;

/// Where the API server answers: on the only address that the node's namespace has beside its loopback.
pub(super) const SERVER: &str = "https://10.77.0.1:6443";
/// The API server's address in its own cluster, the first of the services' range.
const SERVICE: &str = "10.96.0.1";
/// The API server's user when it asks the kubelet.
pub(super) const KUBELET_CLIENT: &str = "kube-apiserver-kubelet-client";
/// The group that a bootstrap token puts a machine in, as kubeadm names it.
pub(super) const BOOTSTRAPPERS: &str = "system:bootstrappers:kubeadm:default-node-token";
/// Name of the user `User::Stranger`, for those who give it rights.
pub const STRANGER: &str = "stranger";
/// The bootstrap token: its public and its secret part.
pub(super) const TOKEN: (&str, &str) = ("e2etok", "0123456789abcdef");

/// Whose kubeconfig.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// May do everything.
    Admin,
    /// The kube-controller-manager.
    ControllerManager,
    /// The kube-scheduler.
    Scheduler,
    /// The kube-proxy.
    Proxy,
    /// The node, with a client certificate that is ready to use.
    Node,
    /// A machine that is not a node yet, with a bootstrap token.
    Bootstrap,
    /// Somebody with a good certificate and no rights.
    Stranger,
    /// Somebody without any credentials that count.
    Nobody,
}

impl User {
    fn file(self) -> &'static str {
        match self {
            User::Admin => "admin.conf",
            User::ControllerManager => "controller-manager.conf",
            User::Scheduler => "scheduler.conf",
            User::Proxy => "proxy.conf",
            User::Node => "node.conf",
            User::Bootstrap => "bootstrap.conf",
            User::Stranger => "stranger.conf",
            User::Nobody => "nobody.conf",
        }
    }
}

/// The folder with all that is secret in a cluster.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    folder: PathBuf,
}

impl Identity {
    /// Makes everything anew in `folder`.
    pub(super) fn create(folder: PathBuf) -> Result<Identity> {
        let identity = Identity { folder };
        let pki = identity.pki();
        fs::create_dir_all(&pki)?;
        let (authority, front) = (
            Authority::new("kubernetes")?,
            Authority::new("front-proxy")?,
        );
        authority.write(&pki, "ca")?;
        front.write(&pki, "front-proxy-ca")?;
        write_token_key(&pki)?;
        let api = [
            "kube-apiserver",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "kubernetes.default.svc.cluster.local",
            "localhost",
            "127.0.0.1",
            NODE_ADDRESS,
            SERVICE,
        ];
        authority
            .issue(&Use::Server(&api))?
            .write(&pki, "apiserver")?;
        let kubelet = Use::Client(KUBELET_CLIENT, &[]);
        authority.issue(&kubelet)?.write(&pki, "kubelet-client")?;
        let proxy = Use::Client("front-proxy-client", &[]);
        front.issue(&proxy)?.write(&pki, "front-proxy-client")?;
        let serving = Use::Server(&[HOSTNAME, NODE_ADDRESS, "127.0.0.1"]);
        authority.issue(&serving)?.write(&pki, "kubelet")?;

        let node = format!("system:node:{HOSTNAME}");
        for (user, name, groups) in [
            (User::Admin, "admin", ["system:masters"].as_slice()),
            (
                User::ControllerManager,
                "system:kube-controller-manager",
                &[],
            ),
            (User::Scheduler, "system:kube-scheduler", &[]),
            (User::Proxy, "system:kube-proxy", &[]),
            (User::Node, &node, &["system:nodes"]),
            (User::Stranger, STRANGER, &[]),
        ] {
            let pair = authority.issue(&Use::Client(name, groups))?;
            identity.write(user, &certificate_user(&pair), &authority)?;
        }
        let token = json!({ "token": format!("{}.{}", TOKEN.0, TOKEN.1) });
        identity.write(User::Bootstrap, &token, &authority)?;
        // kubectl asks a person where a kubeconfig has nothing at all. No component of Kubernetes knows passwords, so that
        // whoever has one only is as good as nobody.
        let password = json!({ "username": "nobody", "password": "none" });
        identity.write(User::Nobody, &password, &authority)?;
        Ok(identity)
    }

    /// Path of a certificate, key or authority.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.pki().join(name)
    }

    /// Path of somebody's kubeconfig.
    pub(super) fn kubeconfig(&self, user: User) -> PathBuf {
        self.folder.join(user.file())
    }

    fn pki(&self) -> PathBuf {
        self.folder.join("pki")
    }

    fn write(&self, user: User, credentials: &Value, authority: &Authority) -> Result<()> {
        let authority = STANDARD.encode(authority.certificate());
        let cluster = json!({ "server": SERVER, "certificate-authority-data": authority });
        let context = json!({ "cluster": "e2e", "user": "me", "namespace": "default" });
        let document = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": "e2e", "cluster": cluster }],
            "users": [{ "name": "me", "user": credentials }],
            "contexts": [{ "name": "e2e", "context": context }],
            "current-context": "e2e",
        });
        write_private(&self.kubeconfig(user), &document.to_string())
    }
}

fn certificate_user(pair: &Pair) -> Value {
    json!({
        "client-certificate-data": STANDARD.encode(&pair.certificate),
        "client-key-data": STANDARD.encode(&pair.key),
    })
}

/// kubectl warns about a kubeconfig that others may read.
fn write_private(path: &Path, text: &str) -> Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    Ok(options.open(path)?.write_all(text.as_bytes())?)
}
