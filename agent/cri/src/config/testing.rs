//! Pods for the tests of the builders.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agent_core::{ContainerName, ContainerWant, ImageName, PodName, PodUid, PodWant, Probes};
use agent_core::{PullPolicy, RestartPolicy, SandboxId};
use agent_loops::ports::{
    ContainerSpec, DeviceGrant, ImageFacts, PreparedContainer, PreparedPod, References,
    ResolverConfig, SandboxSpec, WantedPod,
};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::error::ConfigError;
use super::input::PodInput;
use super::settings::{Allocatable, NodeSettings};

/// A pod and its surroundings; every field may be changed before it is used.
pub(crate) struct Scene {
    pub(crate) pod: WantedPod,
    pub(crate) prepared: PreparedPod,
    pub(crate) references: References,
    pub(crate) node: NodeSettings,
}

impl Scene {
    /// A pod with this spec and one annotation, one label. A container without a name is called `main`.
    pub(crate) fn new(spec: Value) -> Self {
        let mut spec = spec;
        if spec.get("containers").is_none() {
            spec["containers"] = json!([{}]);
        }
        for list in ["containers", "initContainers", "ephemeralContainers"] {
            for container in spec
                .get_mut(list)
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                if container.get("name").is_none() {
                    container["name"] = json!("main");
                }
            }
        }
        let manifest: Pod = serde_json::from_value(json!({
            "metadata": {"labels": {"app": "web"}, "annotations": {"note": "a \"b\""}},
            "spec": spec,
        }))
        .unwrap();
        let pod = WantedPod {
            want: Arc::new(want(&manifest)),
            manifest: Arc::new(manifest),
        };
        Self {
            pod,
            prepared: prepared(),
            references: References::default(),
            node: node(),
        }
    }

    /// A pod with one container.
    pub(crate) fn of_container(container: Value) -> Self {
        Self::new(json!({"containers": [container]}))
    }

    pub(crate) fn input(&self) -> PodInput<'_> {
        PodInput::new(&self.pod, &self.prepared, &self.references, &self.node).unwrap()
    }

    /// What a sandbox of the pod is made from.
    pub(crate) fn sandbox_spec(&self) -> SandboxSpec {
        SandboxSpec {
            pod: self.pod.clone(),
            attempt: 2,
            prepared: Arc::new(self.prepared.clone()),
            references: Arc::new(self.references.clone()),
        }
    }

    /// What the container `main` is made from.
    pub(crate) fn container_spec(
        &self,
        own: PreparedContainer,
        grants: &[DeviceGrant],
    ) -> ContainerSpec {
        ContainerSpec {
            pod: self.pod.clone(),
            container: ContainerName::new("main"),
            attempt: 3,
            sandbox: SandboxId::new("sandbox-1"),
            sandbox_attempt: 1,
            ips: vec!["10.1.0.5".to_owned()],
            prepared: Arc::new(self.prepared.clone()),
            own,
            image: ImageFacts {
                reference: "sha256:1".to_owned(),
                uid: None,
                username: String::new(),
                size: 1,
            },
            image_volumes: BTreeMap::new(),
            grants: grants.to_vec(),
            references: Arc::new(self.references.clone()),
        }
    }

    /// Text of the error that a builder gives.
    pub(crate) fn error<T: std::fmt::Debug>(result: Result<T, ConfigError>) -> String {
        result.unwrap_err().to_string()
    }
}

fn want(manifest: &Pod) -> PodWant {
    let spec = manifest.spec.as_ref().unwrap();
    let container = |each: &k8s_openapi::api::core::v1::Container| ContainerWant {
        name: ContainerName::new(&each.name),
        image: ImageName::new(each.image.as_deref().unwrap_or("image")),
        hash: "8e45cbd0".to_owned(),
        pull: PullPolicy::IfNotPresent,
        image_volumes: Vec::new(),
        restart: None,
        restart_rules: Vec::new(),
        probes: Probes::default(),
        post_start: None,
        pre_stop: None,
        devices: Vec::new(),
    };
    PodWant {
        ephemeral: spec
            .ephemeral_containers
            .iter()
            .flatten()
            .map(|each| ContainerWant {
                name: ContainerName::new(&each.name),
                ..container(&Default::default())
            })
            .collect(),
        deletion: None,
        over: None,
        needs: Default::default(),
        started_at: None,
        restarts: Default::default(),
        uid: PodUid::new("uid-1"),
        name: PodName::new("space", "web-node"),
        is_static: true,
        host_network: spec.host_network == Some(true),
        restart: RestartPolicy::Always,
        grace: Duration::from_secs(30),
        active_deadline: None,
        init: spec
            .init_containers
            .iter()
            .flatten()
            .map(container)
            .collect(),
        containers: spec.containers.iter().map(container).collect(),
    }
}

fn prepared() -> PreparedPod {
    PreparedPod {
        log_directory: PathBuf::from("/var/log/pods/space_web-node_uid-1"),
        cgroup_parent: "/kubepods/burstable/poduid-1".to_owned(),
        resolver: ResolverConfig {
            servers: vec!["192.0.2.1".to_owned()],
            searches: vec!["example.net".to_owned()],
            options: vec!["timeout:1".to_owned()],
        },
        ..Default::default()
    }
}

fn node() -> NodeSettings {
    NodeSettings {
        cluster_dns: vec!["10.0.0.10".to_owned()],
        cluster_domain: "cluster.local".to_owned(),
        host_ips: vec!["192.0.2.7".to_owned(), "2001:db8::7".to_owned()],
        seccomp_default: false,
        seccomp_root: PathBuf::from("/var/lib/kubelet/seccomp"),
        cpu_quota: true,
        cpu_quota_period: Duration::from_millis(100),
        memory_capacity: 100 << 30,
        allocatable: Allocatable {
            cpu: "8".parse().unwrap(),
            memory: "90Gi".parse().unwrap(),
            ephemeral_storage: "1Ti".parse().unwrap(),
        },
        cgroup_v2: true,
        swap_accounting: false,
        single_process_oom_kill: false,
    }
}
