//! A kubeconfig file: where the API server is, and what proves who we are.

use std::fmt;
use std::path::{Path, PathBuf};

use kube::Config;
use kube::config::{AuthInfo, Cluster, KubeConfigOptions, Kubeconfig, KubeconfigError};
use secrecy::ExposeSecret;

use super::error::{ConnectionError, read};
use super::pair::Pair;
use super::proxy::Proxy;
use super::store::write_private;

/// What the present context of a kubeconfig says.
#[derive(Clone)]
pub(super) struct Endpoint {
    /// Server, authority and token. Client certificates are in `pair`, not in here.
    pub(super) config: Config,
    /// The cluster as written.
    cluster: Cluster,
    /// Way to the server.
    pub(super) proxy: Option<Proxy>,
    /// Where the client certificate is, if the user has one.
    pub(super) pair: Option<PairSource>,
    /// File with a token that may be renewed. It outranks a token in the kubeconfig itself.
    pub(super) token_file: Option<PathBuf>,
    /// The user has a token, a password or a plugin that gives one.
    pub(super) has_token: bool,
}

/// Where a client certificate and its key are.
#[derive(Clone, Debug)]
pub(super) struct PairSource {
    certificate: Material,
    key: Material,
    place: String,
}

/// PEM text, here or in a file.
#[derive(Clone)]
enum Material {
    File(PathBuf),
    Inline(Vec<u8>),
}

impl fmt::Debug for Endpoint {
    /// The server only: the address of a proxy may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("server", &self.config.cluster_url)
            .field("pair", &self.pair)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => f.debug_tuple("File").field(file).finish(),
            Self::Inline(_) => f.write_str("Inline(..)"),
        }
    }
}

impl Endpoint {
    /// Reads the present context. Client certificates are only found here, not read: a missing one is
    /// no reason not to know the server.
    pub(super) async fn load(file: &Path) -> Result<Self, ConnectionError> {
        let mut kubeconfig = Kubeconfig::read_from(file).map_err(|error| told(file, error))?;
        let (cluster, mut user) = chosen(file, &kubeconfig)?;
        let pair = PairSource::take(file, &mut user)?;
        let token_file = user.token_file.take().map(PathBuf::from);
        if token_file.is_some() {
            user.token = None;
        }
        let has_token = token_file.is_some()
            || user.token.is_some()
            || user.exec.is_some()
            || user.username.is_some();
        kubeconfig.auth_infos.iter_mut().for_each(|each| {
            // Only the chosen user is read below, and without its certificate.
            each.auth_info = Some(user.clone());
        });
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .map_err(|error| told(file, error))?;
        if cluster.certificate_authority_data.is_none() {
            // An authority that is replaced in its file is noticed.
            config.root_cert_file = cluster.certificate_authority.as_ref().map(PathBuf::from);
        }
        let proxy = Proxy::find(file, cluster.proxy_url.as_deref(), &config.cluster_url)?;
        config.proxy_url = None;
        Ok(Self {
            config,
            cluster,
            proxy,
            pair,
            token_file,
            has_token,
        })
    }

    /// Writes a kubeconfig for the same cluster whose user has the certificate at `pair`.
    pub(super) fn write_with(&self, file: &Path, pair: &Path) -> Result<(), ConnectionError> {
        let pair = pair.display().to_string();
        let text = serde_saphyr::to_string(&serde_json::json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "default-cluster", "cluster": self.cluster}],
            "users": [{
                "name": "default-auth",
                "user": {"client-certificate": pair, "client-key": pair},
            }],
            "contexts": [{
                "name": "default-context",
                "context": {
                    "cluster": "default-cluster",
                    "user": "default-auth",
                    "namespace": "default",
                },
            }],
            "current-context": "default-context",
        }))
        .map_err(|error| ConnectionError::field(file, "clusters", error.to_string()))?;
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).map_err(|source| ConnectionError::Write {
                file: folder.to_owned(),
                what: "folder of the kubeconfig",
                source,
            })?;
        }
        write_private(file, text.as_bytes())
    }
}

impl PairSource {
    /// The pair as it is now.
    pub(super) fn load(&self) -> Result<Pair, ConnectionError> {
        let (certificate, key) = self.pem()?;
        Pair::from_pem(&certificate, &key, &self.place)
    }

    /// Certificate and key as written.
    pub(super) fn pem(&self) -> Result<(Vec<u8>, Vec<u8>), ConnectionError> {
        Ok((
            self.certificate
                .pem("client-certificate of the kubeconfig")?,
            self.key.pem("client-key of the kubeconfig")?,
        ))
    }

    /// Files it is in.
    pub(super) fn files(&self) -> Vec<&Path> {
        let each = [&self.certificate, &self.key].into_iter();
        each.filter_map(|material| match material {
            Material::File(file) => Some(file.as_path()),
            Material::Inline(_) => None,
        })
        .collect()
    }

    /// Takes certificate and key out of a user.
    fn take(file: &Path, user: &mut AuthInfo) -> Result<Option<Self>, ConnectionError> {
        let inline_key = user.client_key_data.take();
        let key = material(
            file,
            "client-key-data",
            inline_key.as_ref().map(|key| key.expose_secret()),
            user.client_key.take(),
        )?;
        let certificate = material(
            file,
            "client-certificate-data",
            user.client_certificate_data.take().as_deref(),
            user.client_certificate.take(),
        )?;
        match (certificate, key) {
            (None, None) => Ok(None),
            (Some(certificate), Some(key)) => Ok(Some(Self {
                certificate,
                key,
                place: format!("client certificate of kubeconfig {}", file.display()),
            })),
            (Some(_), None) => Err(ConnectionError::field(
                file,
                "client-key",
                "it is missing, a client certificate needs its key",
            )),
            (None, Some(_)) => Err(ConnectionError::field(
                file,
                "client-certificate",
                "it is missing, a client key needs its certificate",
            )),
        }
    }
}

impl Material {
    fn pem(&self, what: &'static str) -> Result<Vec<u8>, ConnectionError> {
        match self {
            Self::File(file) => read(file, what),
            Self::Inline(pem) => Ok(pem.clone()),
        }
    }
}

/// Data in the kubeconfig outranks a file, as everywhere in Kubernetes. Empty is the same as missing.
fn material(
    file: &Path,
    field: &str,
    data: Option<&str>,
    path: Option<String>,
) -> Result<Option<Material>, ConnectionError> {
    use base64::Engine;
    if let Some(data) = data.filter(|data| !data.is_empty()) {
        let decoded = base64::engine::general_purpose::STANDARD.decode(data);
        return match decoded {
            Ok(pem) => Ok(Some(Material::Inline(pem))),
            Err(_) => Err(ConnectionError::field(file, field, "it is no valid base64")),
        };
    }
    Ok(path
        .filter(|path| !path.is_empty())
        .map(|path| Material::File(path.into())))
}

/// Cluster and user of the present context. A user that is not there is one without credential.
fn chosen(file: &Path, kubeconfig: &Kubeconfig) -> Result<(Cluster, AuthInfo), ConnectionError> {
    let Some(name) = kubeconfig
        .current_context
        .as_deref()
        .filter(|name| !name.is_empty())
    else {
        return Err(ConnectionError::field(
            file,
            "current-context",
            "it is missing",
        ));
    };
    let mut contexts = kubeconfig.contexts.iter();
    let context = contexts
        .find(|each| each.name == name)
        .and_then(|each| each.context.as_ref())
        .ok_or_else(|| {
            ConnectionError::field(file, "contexts", format!("there is no context {name:?}"))
        })?;
    let mut clusters = kubeconfig.clusters.iter();
    let cluster = clusters
        .find(|each| each.name == context.cluster)
        .and_then(|each| each.cluster.clone())
        .ok_or_else(|| {
            let why = format!("there is no cluster {:?}", context.cluster);
            ConnectionError::field(file, "clusters", why)
        })?;
    let mut users = kubeconfig.auth_infos.iter();
    let user = users
        .find(|each| Some(&each.name) == context.user.as_ref())
        .and_then(|each| each.auth_info.clone());
    Ok((cluster, user.unwrap_or_default()))
}

/// In our words. What the YAML parser says is left out except for the place: it quotes the file, and
/// there are tokens in it.
fn told(file: &Path, error: KubeconfigError) -> ConnectionError {
    let (field, why) = match error {
        KubeconfigError::ReadConfig(source, _) => {
            return ConnectionError::Read {
                file: file.to_owned(),
                what: "kubeconfig",
                source,
            };
        }
        KubeconfigError::Parse(error) => {
            let place = error.location().map_or(String::new(), |at| {
                format!(" at line {}, column {}", at.line(), at.column())
            });
            ("YAML", format!("it is not a kubeconfig{place}"))
        }
        KubeconfigError::MissingClusterUrl => ("server", "it is missing".to_owned()),
        KubeconfigError::ParseClusterUrl(error) => ("server", error.to_string()),
        KubeconfigError::LoadCertificateAuthority(error) => {
            ("certificate-authority", error.to_string())
        }
        KubeconfigError::ParseCertificates(error) => ("certificate-authority", error.to_string()),
        KubeconfigError::ParseProxyUrl(error) => {
            ("HTTPS_PROXY of the environment", error.to_string())
        }
        other => ("context", other.to_string()),
    };
    ConnectionError::field(file, field, why)
}

#[cfg(test)]
mod tests;
