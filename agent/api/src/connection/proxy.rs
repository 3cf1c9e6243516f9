//! Which proxy leads to the API server.

use std::path::Path;

use http::{HeaderValue, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

use super::error::ConnectionError;

/// A proxy that is asked to CONNECT. Its password is not shown.
#[derive(Clone, Debug)]
pub(super) struct Proxy {
    address: Uri,
    authorization: Option<HeaderValue>,
}

impl Proxy {
    /// `proxy-url` of the kubeconfig, else the variables `HTTPS_PROXY` and `NO_PROXY` of the
    /// environment, as with the stock kubelet.
    pub(super) fn find(
        file: &Path,
        url: Option<&str>,
        server: &Uri,
    ) -> Result<Option<Self>, ConnectionError> {
        let matcher = match url.filter(|url| !url.is_empty()) {
            None => Matcher::from_env(),
            Some(url) => {
                let scheme = url.split_once("://").map_or("http", |(scheme, _)| scheme);
                if scheme != "http" {
                    return Err(ConnectionError::field(
                        file,
                        "proxy-url",
                        format!("a {scheme} proxy is not supported, only http://HOST:PORT is"),
                    ));
                }
                Matcher::builder().all(url).build()
            }
        };
        Ok(matcher.intercept(server).map(|found| Self::of(&found)))
    }

    fn of(found: &Intercept) -> Self {
        Self {
            address: found.uri().clone(),
            authorization: found.basic_auth().cloned(),
        }
    }

    /// The way through the proxy.
    pub(super) fn tunnel(&self, connector: HttpConnector) -> Tunnel<HttpConnector> {
        let tunnel = Tunnel::new(self.address.clone(), connector);
        match &self.authorization {
            Some(value) => tunnel.with_auth(value.clone()),
            None => tunnel,
        }
    }
}
