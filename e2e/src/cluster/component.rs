//! The programs of a control plane and their command lines.

use std::path::{Path, PathBuf};

use super::identity::{Identity, User};
use crate::agent::HOSTNAME;
use crate::netns::NODE_ADDRESS;

/// One program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// The store.
    Etcd,
    /// The API server.
    ApiServer,
    /// The controllers.
    ControllerManager,
    /// The scheduler.
    Scheduler,
    /// Service addresses on the node; only where a scenario asks for it.
    Proxy,
}

impl Component {
    /// In the order of starting.
    pub const ALL: [Component; 5] = [
        Component::Etcd,
        Component::ApiServer,
        Component::ControllerManager,
        Component::Scheduler,
        Component::Proxy,
    ];

    /// The program's name.
    pub fn name(self) -> &'static str {
        match self {
            Component::Etcd => "etcd",
            Component::ApiServer => "kube-apiserver",
            Component::ControllerManager => "kube-controller-manager",
            Component::Scheduler => "kube-scheduler",
            Component::Proxy => "kube-proxy",
        }
    }

    /// The port of the namespace's loopback that tells whether it is up.
    pub(super) fn port(self) -> u16 {
        match self {
            Component::Etcd => 2379,
            Component::ApiServer => 6443,
            Component::ControllerManager => 10257,
            Component::Scheduler => 10259,
            Component::Proxy => 10256,
        }
    }

    /// Its command line; `data` is the store's folder.
    pub(super) fn arguments(self, identity: &Identity, data: &Path) -> Vec<String> {
        let mut line = Line(Vec::new());
        match self {
            Component::Etcd => etcd(&mut line, data),
            Component::ApiServer => api_server(&mut line, identity),
            Component::ControllerManager => controller_manager(&mut line, identity),
            Component::Scheduler => {
                line.kubeconfigs(identity.kubeconfig(User::Scheduler));
            }
            Component::Proxy => proxy(&mut line, identity),
        }
        line.0
    }
}

/// A command line in the making.
struct Line(Vec<String>);

impl Line {
    fn add(&mut self, name: &str, value: &str) {
        self.0.push(format!("--{name}={value}"));
    }

    fn file(&mut self, name: &str, path: PathBuf) {
        self.add(name, &path.to_string_lossy());
    }

    /// How controllers and scheduler reach the API server, for themselves and for judging those who ask them.
    fn kubeconfigs(&mut self, path: PathBuf) {
        for name in [
            "kubeconfig",
            "authentication-kubeconfig",
            "authorization-kubeconfig",
        ] {
            self.file(name, path.clone());
        }
        self.add("bind-address", "127.0.0.1");
        self.add("leader-elect", "false");
    }
}

/// It keeps nothing over a loss of power, which a test does not need; that saves most of its time.
fn etcd(line: &mut Line, data: &Path) {
    line.file("data-dir", data.to_owned());
    line.0.push("--unsafe-no-fsync".to_owned());
    line.add("log-level", "warn");
    let own = "http://127.0.0.1:2379";
    line.add("listen-client-urls", own);
    line.add("advertise-client-urls", own);
    let peers = "http://127.0.0.1:2380";
    line.add("listen-peer-urls", peers);
    line.add("initial-advertise-peer-urls", peers);
    line.add("initial-cluster", &format!("default={peers}"));
}

fn api_server(line: &mut Line, identity: &Identity) {
    for (name, value) in [
        ("advertise-address", NODE_ADDRESS),
        ("secure-port", "6443"),
        ("etcd-servers", "http://127.0.0.1:2379"),
        ("allow-privileged", "true"),
        ("authorization-mode", "Node,RBAC"),
        ("enable-admission-plugins", "NodeRestriction"),
        ("enable-bootstrap-token-auth", "true"),
        ("kubelet-preferred-address-types", "InternalIP,Hostname"),
        ("requestheader-allowed-names", "front-proxy-client"),
        ("requestheader-extra-headers-prefix", "X-Remote-Extra-"),
        ("requestheader-group-headers", "X-Remote-Group"),
        ("requestheader-username-headers", "X-Remote-User"),
        (
            "service-account-issuer",
            "https://kubernetes.default.svc.cluster.local",
        ),
        ("service-cluster-ip-range", "10.96.0.0/24"),
    ] {
        line.add(name, value);
    }
    for (name, file) in [
        ("client-ca-file", "ca.crt"),
        ("tls-cert-file", "apiserver.crt"),
        ("tls-private-key-file", "apiserver.key"),
        ("kubelet-client-certificate", "kubelet-client.crt"),
        ("kubelet-client-key", "kubelet-client.key"),
        ("kubelet-certificate-authority", "ca.crt"),
        ("requestheader-client-ca-file", "front-proxy-ca.crt"),
        ("proxy-client-cert-file", "front-proxy-client.crt"),
        ("proxy-client-key-file", "front-proxy-client.key"),
        ("service-account-key-file", "sa.pub"),
        ("service-account-signing-key-file", "sa.key"),
    ] {
        line.file(name, identity.file(file));
    }
}

fn controller_manager(line: &mut Line, identity: &Identity) {
    line.kubeconfigs(identity.kubeconfig(User::ControllerManager));
    line.add(
        "controllers",
        "*,bootstrap-signer-controller,token-cleaner-controller",
    );
    line.add("use-service-account-credentials", "true");
    for (name, file) in [
        ("client-ca-file", "ca.crt"),
        ("cluster-signing-cert-file", "ca.crt"),
        ("cluster-signing-key-file", "ca.key"),
        ("requestheader-client-ca-file", "front-proxy-ca.crt"),
        ("root-ca-file", "ca.crt"),
        ("service-account-private-key-file", "sa.key"),
    ] {
        line.file(name, identity.file(file));
    }
}

/// The limits of connection tracking are the machine's, not the namespace's, so they are left alone.
fn proxy(line: &mut Line, identity: &Identity) {
    line.file("kubeconfig", identity.kubeconfig(User::Proxy));
    for (name, value) in [
        ("hostname-override", HOSTNAME),
        ("proxy-mode", "iptables"),
        ("cluster-cidr", "10.88.0.0/16"),
        ("conntrack-max-per-core", "0"),
        ("conntrack-tcp-timeout-established", "0s"),
        ("conntrack-tcp-timeout-close-wait", "0s"),
        ("healthz-bind-address", "127.0.0.1:10256"),
        ("metrics-bind-address", "127.0.0.1:10249"),
    ] {
        line.add(name, value);
    }
}
