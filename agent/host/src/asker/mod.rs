//! Questions to pods over the network, for probes and hooks.

mod grpc;
mod http;
mod redirect;
mod tls;

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use agent_core::{Fail, HttpGet};
use agent_loops::ports::{Answer, Asker};
use async_trait::async_trait;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How probes name themselves. Servers are known to look for it.
const USER_AGENT: &str = "kube-probe/1.37";

/// Asks over the host's network. Every question is a new connection, closed after the answer.
#[derive(Clone, Debug)]
pub struct NetworkAsker {
    tls: Arc<rustls::ClientConfig>,
}

impl NetworkAsker {
    /// One that accepts any certificate, as probes do.
    pub fn new() -> Result<Self, rustls::Error> {
        Ok(Self {
            tls: Arc::new(tls::trusting()?),
        })
    }
}

#[async_trait]
impl Asker for NetworkAsker {
    async fn http(&self, get: &HttpGet, ip: &str, limit: Duration) -> Result<Answer, Fail> {
        let ask = http::ask(get, ip, &self.tls);
        Ok(timeout(limit, ask).await.unwrap_or_else(|_| late(limit)))
    }

    async fn tcp(&self, host: &str, port: u16, limit: Duration) -> Result<Answer, Fail> {
        let connected = timeout(limit, TcpStream::connect((bare(host), port))).await;
        Ok(match connected {
            Ok(Ok(_)) => yes(String::new()),
            Ok(Err(error)) => no(refused(&address(host, port), &error)),
            Err(_) => late(limit),
        })
    }

    async fn grpc(
        &self,
        ip: &str,
        port: u16,
        service: &str,
        limit: Duration,
    ) -> Result<Answer, Fail> {
        Ok(timeout(limit, grpc::ask(ip, port, service))
            .await
            .unwrap_or_else(|_| late(limit)))
    }
}

fn yes(detail: String) -> Answer {
    Answer {
        success: true,
        answered: true,
        detail,
    }
}

fn no(detail: String) -> Answer {
    Answer {
        success: false,
        answered: false,
        detail,
    }
}

/// In the stock kubelet's words, as far as they can be had: people look for them.
fn refused(place: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            format!("dial tcp {place}: connect: connection refused")
        }
        _ => format!("dial tcp {place}: {error}"),
    }
}

fn late(limit: Duration) -> Answer {
    no(format!("no answer within {limit:?}"))
}

/// The error and what is behind it in one line. A cause that its error repeats is told once.
fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let next = cause.to_string();
        if !text.ends_with(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        source = cause.source();
    }
    text
}

/// Host and port as a URL has them: an IPv6 address in brackets.
fn address(host: &str, port: u16) -> String {
    match bare(host).parse() {
        Ok(IpAddr::V6(ip)) => format!("[{ip}]:{port}"),
        _ => format!("{host}:{port}"),
    }
}

/// A host without the brackets of an IPv6 address.
fn bare(host: &str) -> &str {
    host.strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host)
}

#[cfg(test)]
mod tests;
