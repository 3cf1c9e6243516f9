//! Opening the connection, and what is made from it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use base_daemon::DrainGuard;
use tokio::sync::watch;

use super::client_certificate::ClientCertificate;
use super::error::ConnectionError;
use super::identity::Identity;
use super::kubeconfig::Endpoint;
use super::rate::Rate;
use super::store::Store;
use super::transport::Transport;

/// How to reach the API server.
#[derive(Clone, Debug)]
pub struct ConnectionSettings {
    /// `--kubeconfig`.
    pub kubeconfig: PathBuf,
    /// `--bootstrap-kubeconfig`: used when the other one is missing or its certificate has expired.
    pub bootstrap: Option<PathBuf>,
    /// `--cert-dir`.
    pub cert_dir: PathBuf,
    /// Name of the node, in its certificate.
    pub node: String,
    /// `rotateCertificates`.
    pub rotate: bool,
    /// `kubeAPIQPS` and `kubeAPIBurst`.
    pub rate: Rate,
    /// Version that is shown to the API server, with its `v`.
    pub version: String,
}

/// The connection. Clones are the same one.
#[derive(Clone)]
pub struct Connection {
    inner: Arc<Inner>,
}

struct Inner {
    transport: Arc<Transport>,
    identity: Arc<Identity>,
    certificate: tokio::sync::Mutex<ClientCertificate>,
    client: kube::Client,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("transport", &self.inner.transport)
            .field("identity", &self.inner.identity)
            .finish_non_exhaustive()
    }
}

impl Connection {
    /// Reads the kubeconfig, or the bootstrap kubeconfig if the first one has no usable credential;
    /// then it writes a kubeconfig that refers to the certificate to come. Reads files only: it does
    /// not wait for the API server, nor for a certificate, which [`Connection::maintain`] gets.
    ///
    /// Fails when neither file is usable, and when a client certificate is broken and cannot be
    /// replaced.
    pub async fn open(settings: ConnectionSettings) -> Result<Self, ConnectionError> {
        let identity = Identity::empty();
        let agent = format!(
            "kubelet/{} (linux/{}) gpulet",
            settings.version,
            architecture()
        );
        let store = Store::new(&settings.cert_dir, "kubelet-client");
        let endpoint = chosen(&settings, &store).await?;
        let transport = Transport::new(endpoint.clone(), Arc::clone(&identity), &agent)?;
        let client = transport.client(settings.rate)?;
        let certificate = ClientCertificate::begin(
            &settings,
            agent,
            store,
            endpoint.pair,
            Arc::clone(&transport),
            Arc::clone(&identity),
        )?;
        let inner = Inner {
            transport,
            identity,
            certificate: tokio::sync::Mutex::new(certificate),
            client,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// The client that everything shares whose requests count against `kubeAPIQPS`.
    pub fn client(&self) -> kube::Client {
        self.inner.client.clone()
    }

    /// A client with a rate of its own, for instance `Rate::UNLIMITED` for heartbeats or
    /// `eventRecordQPS` for events.
    pub fn client_with(&self, rate: Rate) -> Result<kube::Client, ConnectionError> {
        self.inner.transport.client(rate)
    }

    /// New requests get new connections, for instance after a heartbeat that got no answer.
    pub fn reconnect(&self) {
        self.inner.transport.reconnect();
    }

    /// Until when the node's certificate is valid; `None`: it has none yet.
    pub fn expiry(&self) -> watch::Receiver<Option<SystemTime>> {
        self.inner.identity.expiry()
    }

    /// Waits until there is something to authenticate with: a certificate, or a token in the
    /// kubeconfig. Safe to cancel.
    pub async fn credentialed(&self) {
        if self.inner.transport.has_token() {
            return;
        }
        let mut expiry = self.expiry();
        // The sender lives in `self`.
        let _ = expiry.wait_for(Option::is_some).await;
    }

    /// Gets, renews and follows the node's certificate until the drain begins. One task has to do
    /// this; a second one waits for the first.
    pub async fn maintain(self, ending: DrainGuard) {
        let mut certificate = self.inner.certificate.lock().await;
        tokio::select! {
            // Cancelled between its steps at worst: files are replaced whole, and a request that was
            // signed for nobody is forgotten by the cluster.
            () = certificate.maintain() => {}
            () = ending.ending() => {}
        }
    }
}

/// The kubeconfig, if it holds a usable credential, else the bootstrap one.
async fn chosen(settings: &ConnectionSettings, store: &Store) -> Result<Endpoint, ConnectionError> {
    let file = &settings.kubeconfig;
    let Some(bootstrap) = &settings.bootstrap else {
        return Endpoint::load(file).await;
    };
    if file.exists() {
        match usable(file).await {
            Ok(endpoint) => return Ok(endpoint),
            Err(error) => tracing::warn!(
                kubeconfig = %file.display(),
                error = %base_daemon::Chain(&error),
                "the kubeconfig is not usable, the node bootstraps again"
            ),
        }
    }
    let mut endpoint = Endpoint::load(bootstrap).await?;
    endpoint.write_with(file, &store.link())?;
    // Its token is for the request of the certificate only; the node itself has no credential yet.
    endpoint = Endpoint::load(file).await?;
    Ok(endpoint)
}

/// A kubeconfig with a credential: a certificate that has not expired, or a token.
async fn usable(file: &std::path::Path) -> Result<Endpoint, ConnectionError> {
    let endpoint = Endpoint::load(file).await?;
    match &endpoint.pair {
        Some(source) => {
            let pair = source.load()?;
            if pair.is_expired(SystemTime::now()) {
                return Err(ConnectionError::pair(
                    format!("client certificate of kubeconfig {}", file.display()),
                    "it has expired",
                ));
            }
        }
        None if endpoint.has_token => {}
        None => {
            return Err(ConnectionError::field(
                file,
                "user",
                "it has neither a client certificate nor a token",
            ));
        }
    }
    Ok(endpoint)
}

/// In the words of Go.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
