//! The API server's client of this process, which sits outside the node's network namespace.

use std::path::Path;

use anyhow::{Context, Result};
use hyper_util::client::legacy::Client as Http;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::client::{Body, ConfigExt};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tower::{BoxError, ServiceBuilder};

use super::identity::SERVER;
use crate::netns::Netns;

/// A client as the kubeconfig says, whose connections begin inside the namespace.
pub(super) async fn client(netns: &Netns, kubeconfig: &Path) -> Result<Client> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let server = SERVER.strip_prefix("https://").context("no https")?;
    let (address, netns) = (server.parse()?, netns.clone());
    let connect = tower::service_fn(move |_: http::Uri| {
        let netns = netns.clone();
        async move {
            let stream = netns.connect(address).await;
            let stream = stream.map_err(|error| BoxError::from(format!("{error:#}")))?;
            stream.set_nodelay(true)?;
            Ok::<_, BoxError>(TokioIo::new(stream))
        }
    });
    let https = config.rustls_https_connector_with_connector(connect)?;
    let http: Http<_, Body> = Http::builder(TokioExecutor::new()).build(https);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .map_err(BoxError::from)
        .service(http);
    Ok(Client::new(service, config.default_namespace))
}
