//! Pods for rehearsals.

use std::sync::Arc;
use std::time::Duration;

use agent_core::{
    ContainerName, ContainerWant, Deletion, Hook, HttpGet, ImageName, ImageVolume, PodName,
    PodOver, PodUid, PodWant, Probes, PullPolicy, ResourceName, RestartPolicy,
};
use agent_loops::ports::WantedPod;
use k8s_openapi::api::core::v1::Pod;

/// The device resource of the rehearsal.
pub const GPU: &str = "example.com/gpu";

/// A pod in the making. Methods about a container change the one added last.
#[derive(Clone, Debug)]
pub struct PodBuilder {
    want: PodWant,
    last_is_init: bool,
}

/// A pod without containers, with UID `uid-<name>`.
pub fn pod(name: &str) -> PodBuilder {
    let want = PodWant {
        ephemeral: Vec::new(),
        deletion: None,
        over: None,
        needs: Default::default(),
        started_at: None,
        restarts: Default::default(),
        uid: PodUid::new(format!("uid-{name}")),
        name: PodName::new("default", name),
        is_static: true,
        host_network: false,
        restart: RestartPolicy::Always,
        grace: Duration::from_secs(30),
        active_deadline: None,
        init: Vec::new(),
        containers: Vec::new(),
    };
    PodBuilder {
        want,
        last_is_init: false,
    }
}

impl PodBuilder {
    /// Another UID.
    #[must_use]
    pub fn uid(mut self, uid: &str) -> Self {
        self.want.uid = PodUid::new(uid);
        self
    }

    /// The pod's restart policy.
    #[must_use]
    pub fn restart(mut self, policy: RestartPolicy) -> Self {
        self.want.restart = policy;
        self
    }

    /// The pod's grace period.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.want.grace = grace;
        self
    }

    /// The pod's `activeDeadlineSeconds`.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.want.active_deadline = Some(deadline);
        self
    }

    /// From an API server.
    #[must_use]
    pub fn api(mut self) -> Self {
        self.want.is_static = false;
        self
    }

    /// From an API server, where somebody has deleted it.
    #[must_use]
    pub fn deleted(mut self, grace: Duration) -> Self {
        self.want.deletion = Some(Deletion { grace });
        self.api()
    }

    /// From an API server that says it ended well.
    #[must_use]
    pub fn over(mut self) -> Self {
        self.want.over = Some(PodOver {
            well: true,
            reason: String::new(),
            message: String::new(),
        });
        self.api()
    }

    /// On the host's network.
    #[must_use]
    pub fn host_network(mut self) -> Self {
        self.want.host_network = true;
        self
    }

    /// A main container.
    #[must_use]
    pub fn container(mut self, name: &str) -> Self {
        self.want.containers.push(container(name));
        self.last_is_init = false;
        self
    }

    /// An init container.
    #[must_use]
    pub fn init(mut self, name: &str) -> Self {
        self.want.init.push(container(name));
        self.last_is_init = true;
        self
    }

    /// A sidecar.
    #[must_use]
    pub fn sidecar(mut self, name: &str) -> Self {
        let sidecar = ContainerWant {
            restart: Some(RestartPolicy::Always),
            ..container(name)
        };
        self.want.init.push(sidecar);
        self.last_is_init = true;
        self
    }

    /// Devices of the container added last.
    #[must_use]
    pub fn gpus(self, count: u32) -> Self {
        self.with(|container| container.devices.push((ResourceName::new(GPU), count)))
    }

    /// Image and pull policy of the container added last.
    #[must_use]
    pub fn image(self, image: &str, pull: PullPolicy) -> Self {
        self.with(|container| {
            container.image = ImageName::new(image);
            container.pull = pull;
        })
    }

    /// A volume whose content is an image, mounted by the container added last.
    #[must_use]
    pub fn image_volume(self, volume: &str, image: &str, pull: PullPolicy) -> Self {
        self.with(|container| {
            container.image_volumes.push(ImageVolume {
                volume: volume.to_owned(),
                image: ImageName::new(image),
                pull,
            });
        })
    }

    /// Probes of the container added last.
    #[must_use]
    pub fn probes(self, probes: Probes) -> Self {
        self.with(|container| container.probes = probes)
    }

    /// postStart hook of the container added last: a command.
    #[must_use]
    pub fn post_start(self, command: &str) -> Self {
        self.with(|container| container.post_start = Some(Hook::Exec(vec![command.to_owned()])))
    }

    /// preStop hook of the container added last: a command.
    #[must_use]
    pub fn pre_stop(self, command: &str) -> Self {
        self.with(|container| container.pre_stop = Some(Hook::Exec(vec![command.to_owned()])))
    }

    /// preStop hook of the container added last: an HTTP request to the pod.
    #[must_use]
    pub fn pre_stop_http(self) -> Self {
        let get = HttpGet {
            tls: false,
            host: None,
            port: 80,
            path: "/part".to_owned(),
            headers: Vec::new(),
        };
        self.with(|container| container.pre_stop = Some(Hook::Http(get)))
    }

    fn with(mut self, change: impl FnOnce(&mut ContainerWant)) -> Self {
        let list = if self.last_is_init {
            &mut self.want.init
        } else {
            &mut self.want.containers
        };
        if let Some(container) = list.last_mut() {
            change(container);
        }
        self
    }

    /// The pod.
    pub fn build(self) -> WantedPod {
        let mut manifest = Pod::default();
        manifest.metadata.name = Some(self.want.name.name.to_string());
        manifest.metadata.namespace = Some(self.want.name.namespace.to_string());
        manifest.metadata.uid = Some(self.want.uid.to_string());
        WantedPod {
            want: Arc::new(self.want),
            manifest: Arc::new(manifest),
        }
    }
}

fn container(name: &str) -> ContainerWant {
    ContainerWant {
        name: ContainerName::new(name),
        image: ImageName::new("example.com/there:1"),
        hash: format!("hash-{name}"),
        pull: PullPolicy::IfNotPresent,
        image_volumes: Vec::new(),
        restart: None,
        restart_rules: Vec::new(),
        probes: Probes::default(),
        post_start: None,
        pre_stop: None,
        devices: Vec::new(),
    }
}
