//! What the server is told at start, and the ports through which it answers.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agent_loops::ports::{Access, Runtime, Streaming};
use agent_loops::{PodBoard, PodSnapshot};
use base_daemon::Readiness;
use k8s_openapi::api::core::v1::Pod;
use rustls::server::ResolvesServerCert;
use tokio::sync::watch;

/// Settings of the server.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// `address`.
    pub address: IpAddr,
    /// `port`; 0: any.
    pub port: u16,
    /// TLS.
    pub tls: TlsSettings,
    /// `authentication.x509.clientCAFile`; `None`: client certificates are not asked for. It is read
    /// again when it changes.
    pub client_ca: Option<PathBuf>,
    /// `authentication.webhook.enabled`: bearer tokens are reviewed.
    pub token_review: bool,
    /// `authentication.anonymous.enabled`.
    pub anonymous: bool,
    /// `authorization.mode`.
    pub authorization: AccessMode,
    /// `enableDebuggingHandlers`: logs, exec, attach, run, port-forward.
    pub debugging_handlers: bool,
    /// `podLogsDir`.
    pub pod_logs: PathBuf,
    /// The whole effective KubeletConfiguration, as `/configz` shows it.
    pub configuration: serde_json::Value,
    /// Bounds.
    pub limits: ServerLimits,
}

/// `authorization.mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessMode {
    /// Whoever is authenticated may do everything.
    AlwaysAllow,
    /// Each request is reviewed by the control plane.
    Webhook,
}

/// TLS as the configuration names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsSettings {
    /// `tlsMinVersion`: `VersionTLS13`, or anything else for 1.2, under which nothing is served.
    pub min_version: String,
    /// `tlsCipherSuites`, Go's names; they choose among those of TLS 1.2. Empty: all that are safe.
    pub cipher_suites: Vec<String>,
    /// `tlsCurvePreferences`, numbers of the TLS registry. Empty: all that are safe.
    pub curves: Vec<i32>,
}

/// Bounds on what clients may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// Connections at the same time, streams into containers among them. More wait to be accepted.
    pub connections: usize,
    /// For the TLS handshake.
    pub handshake: Duration,
    /// For the header of a request, and how long a connection may be idle on HTTP/1.1.
    pub header: Duration,
    /// Bytes of the header of a request, at least 8 KiB.
    pub header_bytes: usize,
    /// For answers under way when the server ends.
    pub drain: Duration,
}

/// Ports and sources of the answers.
#[derive(Clone, Debug)]
pub struct ServerDoors {
    /// All pods.
    pub pods: watch::Receiver<Arc<PodBoard>>,
    /// Pods as the API shows them.
    pub renderer: Arc<dyn PodRenderer>,
    /// What runs, commands for `/run`.
    pub runtime: Arc<dyn Runtime>,
    /// Streams into containers.
    pub streaming: Arc<dyn Streaming>,
    /// Who may ask what. `None`, without a control plane: no token is valid, and with
    /// [`AccessMode::Webhook`] nothing is allowed.
    pub access: Option<Arc<dyn Access>>,
    /// What start-up still waits for.
    pub readiness: Readiness,
    /// The serving certificate, asked for at each handshake.
    pub certificate: Arc<dyn ResolvesServerCert>,
}

/// Makes the object that the API would show of a pod, with its present status.
pub trait PodRenderer: Send + Sync + fmt::Debug + 'static {
    /// `None` for a pod that no source wants.
    fn pod(&self, snapshot: &PodSnapshot) -> Option<Pod>;
}

impl Default for ServerLimits {
    /// Kubernetes 1.37: a header has at most 1 MiB, and an idle connection is closed after 90 s.
    fn default() -> Self {
        Self {
            connections: 1024,
            handshake: Duration::from_secs(10),
            header: Duration::from_secs(90),
            header_bytes: 1 << 20,
            drain: Duration::from_secs(2),
        }
    }
}
