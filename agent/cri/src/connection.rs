//! The channel to the runtime: lazily (re)connected, every call with a deadline.

use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use agent_core::Fail;
use proto::cri::image_service_client::ImageServiceClient;
use proto::cri::runtime_service_client::RuntimeServiceClient;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Response, Status};

use crate::fail::{self, Verb};

/// Largest message taken from the runtime, as in the stock kubelet. gRPC's own default of 4 MiB is
/// passed by a listing of some 3000 containers.
const MAX_MESSAGE: usize = 16 << 20;

/// Why there is no connection to be tried at all.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// Not a Unix socket.
    #[error(
        "containerRuntimeEndpoint {0:?} is not a Unix socket: \
         give it as unix:///run/containerd/containerd.sock"
    )]
    NotUnix(String),
    /// Not an address.
    #[error("containerRuntimeEndpoint {endpoint:?} cannot be used as an address")]
    Address {
        /// What was given.
        endpoint: String,
        /// What is wrong with it.
        source: tonic::transport::Error,
    },
}

/// Clients of both services over one channel.
#[derive(Debug)]
pub(crate) struct Connection {
    runtime: RuntimeServiceClient<Channel>,
    images: ImageServiceClient<Channel>,
    limit: Duration,
    /// Whether the runtime resolves CDI names, as last told. Forgotten when the connection breaks: it
    /// may be another runtime that answers next.
    cdi: Mutex<Option<bool>>,
}

impl Connection {
    /// Nothing is sent yet. `limit` is the deadline of an ordinary call. Needs a tokio runtime.
    pub(crate) fn new(endpoint: &str, limit: Duration) -> Result<Self, EndpointError> {
        let path = endpoint
            .strip_prefix("unix://")
            .or_else(|| endpoint.strip_prefix("unix:"));
        let path = path.unwrap_or(endpoint);
        if !path.starts_with('/') {
            return Err(EndpointError::NotUnix(endpoint.to_owned()));
        }
        let address = Endpoint::try_from(format!("unix:{path}")).map_err(|source| {
            EndpointError::Address {
                endpoint: endpoint.to_owned(),
                source,
            }
        })?;
        let channel = address.connect_lazy();
        Ok(Self {
            runtime: RuntimeServiceClient::new(channel.clone())
                .max_decoding_message_size(MAX_MESSAGE),
            images: ImageServiceClient::new(channel).max_decoding_message_size(MAX_MESSAGE),
            limit,
            cdi: Mutex::new(None),
        })
    }

    pub(crate) fn runtime(&self) -> RuntimeServiceClient<Channel> {
        self.runtime.clone()
    }

    pub(crate) fn images(&self) -> ImageServiceClient<Channel> {
        self.images.clone()
    }

    /// A message with the ordinary deadline.
    pub(crate) fn request<T>(&self, message: T) -> Request<T> {
        self.request_with(message, Duration::ZERO)
    }

    /// A message to a call that waits for something of its own: `extra` on top of the deadline.
    pub(crate) fn request_with<T>(&self, message: T, extra: Duration) -> Request<T> {
        let mut request = Request::new(message);
        request.set_timeout(self.limit.saturating_add(extra));
        request
    }

    /// Waits for the answer of one call.
    pub(crate) async fn answer<T>(
        &self,
        verb: Verb,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, Fail> {
        self.raw(verb, call)
            .await
            .map_err(|status| fail::of(verb, &status))
    }

    /// The same for a caller that reads the status itself.
    pub(crate) async fn raw<T>(
        &self,
        verb: Verb,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, Status> {
        let began = Instant::now();
        let result = call.await;
        let code = result.as_ref().map_or_else(Status::code, |_| Code::Ok);
        tracing::trace!(call = verb.name, took = ?began.elapsed(), ?code, "CRI call");
        if code == Code::Unavailable {
            self.set_cdi(None);
        }
        result.map(Response::into_inner)
    }

    /// Whether the runtime resolves CDI names; `None` when it has to be asked.
    pub(crate) fn cdi(&self) -> Option<bool> {
        *self.cdi.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_cdi(&self, cdi: Option<bool>) {
        *self.cdi.lock().unwrap_or_else(PoisonError::into_inner) = cdi;
    }
}

#[cfg(test)]
mod tests;
