//! How a cluster is to be.

use std::env;

use anyhow::{Result, bail};
use serde_json::{Map, Value, json};

use super::component::Component;
use super::identity::User;
use super::plane::ControlPlane;
use crate::agent::Software;
use crate::node::Setup;

/// How a cluster is to be. Begin with `ClusterSetup::plain()` and change what the scenario is about.
#[derive(Debug, Clone)]
pub struct ClusterSetup {
    /// The node: containerd, GPUs, proxy.
    pub node: Setup,
    /// Which agent runs on it.
    pub software: Software,
    /// How the node gets its client certificate.
    pub join: Join,
    /// Laid over the KubeletConfiguration that a cluster's node has (merge: null removes a field).
    pub kubelet: Value,
    /// Added to the agent's command line.
    pub arguments: Vec<String>,
    /// Feature gates of all components and of the agent.
    pub feature_gates: Vec<(&'static str, bool)>,
    /// Added to the components' command lines.
    pub flags: Vec<(Component, String)>,
    /// Whether kube-proxy runs, so that service addresses work.
    pub proxy: bool,
}

/// How a node gets its client certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// The harness has made it.
    Certificate,
    /// By a bootstrap token and a certificate signing request; the agent renews it, too.
    Bootstrap,
}

impl ClusterSetup {
    /// A cluster whose node has no GPUs and a certificate, with the agent that `NODE` names: `gpulet` (the default) or
    /// `stock`.
    pub fn plain() -> Result<ClusterSetup> {
        Ok(ClusterSetup {
            node: Setup::plain()?,
            software: Software::from_env()?,
            join: Join::Certificate,
            kubelet: json!({}),
            arguments: Vec::new(),
            feature_gates: Vec::new(),
            flags: Vec::new(),
            proxy: false,
        })
    }

    /// The components' flags with the feature gates.
    pub(super) fn component_flags(&self) -> Vec<(Component, String)> {
        let gates: Vec<String> = self
            .feature_gates
            .iter()
            .map(|(gate, on)| format!("{gate}={on}"))
            .collect();
        let mut flags = self.flags.clone();
        if !gates.is_empty() {
            let gated = Component::ALL
                .into_iter()
                .filter(|one| *one != Component::Etcd);
            flags.extend(gated.map(|one| (one, format!("--feature-gates={}", gates.join(",")))));
        }
        flags
    }

    /// The lines that a cluster adds to the KubeletConfiguration.
    pub(super) fn kubelet_lines(&self, plane: &ControlPlane) -> Result<String> {
        let gates: Map<String, Value> = self
            .feature_gates
            .iter()
            .map(|(gate, on)| ((*gate).to_owned(), json!(on)))
            .collect();
        let mut whole = json!({
            "address": "0.0.0.0",
            "authentication": {
                "anonymous": { "enabled": false },
                "webhook": { "enabled": true },
                "x509": { "clientCAFile": plane.certificate("ca.crt") },
            },
            "authorization": { "mode": "Webhook" },
            "tlsCertFile": plane.certificate("kubelet.crt"),
            "tlsPrivateKeyFile": plane.certificate("kubelet.key"),
            "rotateCertificates": self.join == Join::Bootstrap,
            "failSwapOn": false,
            "featureGates": gates,
            // The disk is the machine's, and how full it is no matter of ours.
            "evictionHard": {
                "memory.available": "50Mi",
                "nodefs.available": "1%",
                "nodefs.inodesFree": "1%",
                "imagefs.available": "1%",
            },
        });
        merge(&mut whole, &self.kubelet);
        let Value::Object(fields) = whole else {
            bail!("the kubelet's configuration is not an object");
        };
        let lines = fields
            .iter()
            .map(|(name, value)| format!("{name}: {value}\n"));
        Ok(lines.collect())
    }

    /// What a cluster adds to the agent's command line.
    pub(super) fn agent_arguments(&self, plane: &ControlPlane, folder: &str) -> Vec<String> {
        let config = |user: User| plane.kubeconfig(user).display().to_string();
        let mut line = vec![
            format!("--node-ip={}", crate::netns::NODE_ADDRESS),
            format!("--cert-dir={folder}/pki"),
        ];
        match self.join {
            Join::Certificate => line.push(format!("--kubeconfig={}", config(User::Node))),
            Join::Bootstrap => line.extend([
                format!("--kubeconfig={folder}/kubelet.conf"),
                format!("--bootstrap-kubeconfig={}", config(User::Bootstrap)),
            ]),
        }
        line.extend(self.arguments.iter().cloned());
        line
    }
}

impl Software {
    /// The agent that `NODE` names; gpulet when it is not set.
    pub fn from_env() -> Result<Software> {
        match env::var("NODE").as_deref() {
            Ok("gpulet" | "") | Err(_) => Ok(Software::Gpulet),
            Ok("stock") => Ok(Software::Stock),
            Ok(other) => bail!("NODE is {other:?}; it takes gpulet or stock"),
        }
    }
}

/// JSON merge patch (RFC 7386).
fn merge(whole: &mut Value, change: &Value) {
    let Value::Object(fields) = change else {
        *whole = change.clone();
        return;
    };
    if !whole.is_object() {
        *whole = json!({});
    }
    for (name, value) in fields {
        if value.is_null() {
            whole.as_object_mut().map(|whole| whole.remove(name));
        } else {
            merge(&mut whole[name], value);
        }
    }
}
