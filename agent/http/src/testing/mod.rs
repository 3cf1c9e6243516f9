//! A server on loopback with everything around it stood in for, and a client that speaks TLS.

mod certificates;
mod client;
mod fakes;
mod pods;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agent_loops::PodBoard;
use base_daemon::{Drain, Readiness};
use serde_json::json;
use tokio::sync::watch;

pub(crate) use certificates::Authority;
pub(crate) use client::{Client, Reply, request};
use fakes::{FakeAccess, FakeRuntime, FakeStreaming, Rendered};
pub(crate) use pods::{ended, pod, running, waiting};

use crate::server::{
    AccessMode, ServerDoors, ServerError, ServerLimits, ServerSettings, TlsSettings, serve,
};

/// A running server. Dropping it lets go of everything.
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    pub(crate) authority: Authority,
    pub(crate) access: Arc<FakeAccess>,
    pub(crate) runtime: Arc<FakeRuntime>,
    pub(crate) streaming: Arc<FakeStreaming>,
    pub(crate) board: watch::Sender<Arc<PodBoard>>,
    pub(crate) readiness: Readiness,
    pub(crate) drain: Drain,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) ca_file: PathBuf,
    server: tokio::task::JoinHandle<Result<(), base_daemon::Panicked>>,
}

impl Site {
    /// With access reviews, client certificates, tokens and one pod `ns/web` with a container `main`.
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// The same with other settings.
    pub(crate) async fn with(change: impl FnOnce(&mut ServerSettings)) -> Self {
        Self::try_with(change).await.unwrap()
    }

    pub(crate) async fn try_with(
        change: impl FnOnce(&mut ServerSettings),
    ) -> Result<Self, ServerError> {
        let folder = tempfile::tempdir().unwrap();
        let ca_file = folder.path().join("ca.crt");
        let authority = Authority::new();
        std::fs::write(&ca_file, authority.pem()).unwrap();
        let mut settings = ServerSettings {
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 0,
            tls: TlsSettings::default(),
            client_ca: Some(ca_file.clone()),
            token_review: true,
            anonymous: false,
            authorization: AccessMode::Webhook,
            debugging_handlers: true,
            pod_logs: folder.path().join("pods"),
            configuration: json!({"kind": "KubeletConfiguration", "port": 10250}),
            limits: ServerLimits {
                drain: Duration::from_millis(200),
                ..ServerLimits::default()
            },
        };
        change(&mut settings);
        let (access, runtime) = (Arc::new(FakeAccess::default()), Arc::default());
        let (streaming, readiness) = (Arc::new(FakeStreaming::default()), Readiness::default());
        let web = pod("web", vec![running("main", "c1", 0)]);
        let (board, pods) = watch::channel(Arc::new(PodBoard::from([(web.uid.clone(), web)])));
        let doors = ServerDoors {
            pods,
            renderer: Arc::new(Rendered),
            runtime: Arc::clone(&runtime) as _,
            streaming: Arc::clone(&streaming) as _,
            access: Some(Arc::clone(&access) as _),
            readiness: readiness.clone(),
            certificate: authority.serving(),
        };
        let drain = Drain::default();
        let (address, serving) = serve(settings, doors, drain.guard()).await?;
        Ok(Self {
            address,
            authority,
            access,
            runtime,
            streaming,
            board,
            readiness,
            drain,
            folder,
            ca_file,
            server: base_daemon::spawn("server", serving),
        })
    }

    /// A client with a certificate of the authority.
    pub(crate) async fn client(&self, name: &str, group: Option<&str>) -> Client {
        Client::connect(
            self.address,
            &self.authority,
            Some(&self.authority.client(name, group)),
        )
        .await
    }

    /// A client without one.
    pub(crate) async fn nobody(&self) -> Client {
        Client::connect(self.address, &self.authority, None).await
    }

    /// Somebody who may do everything.
    pub(crate) async fn admin(&self) -> Client {
        self.access.allow_all("admin");
        self.client("admin", None).await
    }

    /// Ends the server and waits for it.
    pub(crate) async fn end(self) {
        self.drain.begin();
        self.server.await.unwrap().unwrap();
    }
}
