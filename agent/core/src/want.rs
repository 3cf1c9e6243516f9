//! What a manifest asks of this node, as far as decisions read it.
//!
//! The full manifest travels beside it, opaque, to the doors that need every field.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::admit::Needs;
use crate::ids::{ContainerName, ImageName, PodName, PodUid, ResourceName};
use crate::time::Time;

/// A pod as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodWant {
    /// Identity of this pod.
    pub uid: PodUid,
    /// Namespace and name.
    pub name: PodName,
    /// Static pods are never refused for good: they wait.
    pub is_static: bool,
    /// The pod uses the host's network namespace, so it needs no address of its own.
    pub host_network: bool,
    /// Restart policy of the pod; a container may carry its own.
    pub restart: RestartPolicy,
    /// `spec.terminationGracePeriodSeconds`.
    pub grace: Duration,
    /// `spec.activeDeadlineSeconds`, counted from the pod's start.
    pub active_deadline: Option<Duration>,
    /// Init containers in order, sidecars (`restartPolicy: Always`) among them.
    pub init: Vec<ContainerWant>,
    /// Main containers in order.
    pub containers: Vec<ContainerWant>,
    /// Ephemeral containers in order, each with restart policy `Never`: started once, never again, and
    /// nothing waits for them.
    pub ephemeral: Vec<ContainerWant>,
    /// Somebody deleted the pod in the API: it stops, and stays wanted until the object is gone.
    pub deletion: Option<Deletion>,
    /// The API says that the pod has ended: nothing of it is started again.
    pub over: Option<PodOver>,
    /// What it needs of the node, for admission.
    pub needs: Needs,
    /// `status.startTime` of the API, earlier than this process saw it.
    pub started_at: Option<Time>,
    /// Restart counts that the API shows of containers that ran before this process saw the pod: the
    /// next run counts on from there, also when the runtime has lost all earlier ones.
    pub restarts: BTreeMap<ContainerName, u32>,
}

/// A deletion that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// `deletionGracePeriodSeconds`, counted from when this agent first sees it, as the stock kubelet
    /// does: the clocks of node and API server may differ.
    pub grace: Duration,
}

/// How a pod ended that ended before this process began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodOver {
    /// True for `Succeeded`, false for `Failed`.
    pub well: bool,
    /// `status.reason`.
    pub reason: String,
    /// `status.message`.
    pub message: String,
}

impl PodWant {
    /// Init, main and ephemeral containers.
    pub fn all(&self) -> impl Iterator<Item = &ContainerWant> {
        let started = self.init.iter().chain(&self.containers);
        started.chain(&self.ephemeral)
    }
}

/// `restartPolicy` of a pod or container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartPolicy {
    /// Start again whatever the exit code.
    Always,
    /// Start again after a non-zero exit code.
    OnFailure,
    /// Leave it.
    Never,
}

/// One container as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerWant {
    /// Name inside the pod.
    pub name: ContainerName,
    /// Image as written.
    pub image: ImageName,
    /// Stock container hash over name and image; a running container with another hash is replaced.
    pub hash: String,
    /// When the image is pulled.
    pub pull: PullPolicy,
    /// Images that the container mounts as volumes.
    pub image_volumes: Vec<ImageVolume>,
    /// The container's own restart policy. On an init container `Always` makes it a sidecar.
    pub restart: Option<RestartPolicy>,
    /// Rules on exit codes that outrank the restart policy, first match wins.
    pub restart_rules: Vec<RestartRule>,
    /// Probes; absent ones count as passed.
    pub probes: Probes,
    /// Hook right after the start; its failure kills the container.
    pub post_start: Option<Hook>,
    /// Hook before the stop; it runs inside the grace period.
    pub pre_stop: Option<Hook>,
    /// Device resources and how many of each.
    pub devices: Vec<(ResourceName, u32)>,
}

impl ContainerWant {
    /// An init container that keeps running beside the main ones.
    pub fn is_sidecar(&self) -> bool {
        self.restart == Some(RestartPolicy::Always)
    }
}

/// `restartPolicyRules` entry: what to do on these exit codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestartRule {
    /// True for operator `In`, false for `NotIn`.
    pub within: bool,
    /// Exit codes of the rule.
    pub codes: Vec<i32>,
    /// True for `RestartAllContainers`, false for `Restart`.
    pub all: bool,
}

/// A volume whose content is an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageVolume {
    /// Name of the volume in the pod.
    pub volume: String,
    /// Image as written.
    pub image: ImageName,
    /// When it is pulled.
    pub pull: PullPolicy,
}

/// `imagePullPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullPolicy {
    /// Pull before every start.
    Always,
    /// Pull when the node does not have it.
    IfNotPresent,
    /// Fail when the node does not have it.
    Never,
}

/// The three kinds of probe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probes {
    /// Gates the other two until it succeeds once.
    pub startup: Option<Probe>,
    /// Failing restarts the container.
    pub liveness: Option<Probe>,
    /// Failing makes the pod not ready.
    pub readiness: Option<Probe>,
}

/// One probe with its thresholds (API defaults filled in).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// What is asked.
    pub check: Check,
    /// Wait after the container's start.
    pub initial_delay: Duration,
    /// Time between two tries.
    pub period: Duration,
    /// A try that takes longer has failed.
    pub timeout: Duration,
    /// Successes in a row that turn the result good.
    pub success_threshold: u32,
    /// Failures in a row that turn the result bad.
    pub failure_threshold: u32,
    /// Grace for the kill that a failing liveness or startup probe causes; the pod's when absent.
    pub grace: Option<Duration>,
}

/// What a probe asks; named ports are resolved already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// Run a command in the container; exit code 0 is success.
    Exec(Vec<String>),
    /// HTTP GET; 200 to 399 is success.
    Http(HttpGet),
    /// A TCP connection can be made.
    Tcp {
        /// Host; the pod's address when absent.
        host: Option<String>,
        /// Port.
        port: u16,
    },
    /// gRPC health check, plaintext.
    Grpc {
        /// Port.
        port: u16,
        /// Service name, empty for the server as a whole.
        service: String,
    },
}

/// One HTTP request of a probe or hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpGet {
    /// True for `scheme: HTTPS`; the certificate is not checked.
    pub tls: bool,
    /// Host; the pod's address when absent.
    pub host: Option<String>,
    /// Port.
    pub port: u16,
    /// Path with query.
    pub path: String,
    /// Headers in order; `Host` among them replaces the host header.
    pub headers: Vec<(String, String)>,
}

/// `lifecycle.postStart` or `lifecycle.preStop`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hook {
    /// Run a command in the container.
    Exec(Vec<String>),
    /// HTTP GET.
    Http(HttpGet),
    /// Wait.
    Sleep(Duration),
    /// `tcpSocket` is accepted by the API and always fails.
    Invalid,
}
