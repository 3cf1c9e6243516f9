//! At most so many requests a second.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::Instant;
use tower::{Layer, Service, ServiceExt};

/// Requests a second and how many may come at once (`kubeAPIQPS`, `kubeAPIBurst`). A watch counts once,
/// however long it lasts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Requests a second. Zero or less: no limit.
    pub per_second: f64,
    /// Requests that may come at once after a quiet time; at least 1 is taken.
    pub burst: u32,
}

impl Rate {
    /// No limit, as the stock kubelet's heartbeats have none.
    pub const UNLIMITED: Self = Self {
        per_second: 0.0,
        burst: 0,
    };
}

/// Layer with one bucket for all clones of the service.
#[derive(Clone, Debug)]
pub(super) struct RateLayer {
    bucket: Option<Arc<Mutex<Bucket>>>,
}

/// Service with a bucket in front.
#[derive(Clone, Debug)]
pub(super) struct Limited<S> {
    inner: S,
    bucket: Option<Arc<Mutex<Bucket>>>,
}

/// Tokens. May go below zero: who takes the last ones has to wait until they would be there.
#[derive(Debug)]
struct Bucket {
    rate: f64,
    burst: f64,
    tokens: f64,
    at: Instant,
}

impl RateLayer {
    pub(super) fn new(rate: Rate) -> Self {
        let limited = rate.per_second > 0.0;
        let bucket = limited.then(|| {
            let burst = f64::from(rate.burst.max(1));
            Arc::new(Mutex::new(Bucket {
                rate: rate.per_second,
                burst,
                tokens: burst,
                at: Instant::now(),
            }))
        });
        Self { bucket }
    }
}

impl Bucket {
    /// Takes a token and says how long to wait for it.
    fn take(&mut self, now: Instant) -> Duration {
        let gained = now.saturating_duration_since(self.at).as_secs_f64() * self.rate;
        self.at = now;
        self.tokens = (self.tokens + gained).min(self.burst) - 1.0;
        Duration::from_secs_f64((-self.tokens / self.rate).max(0.0))
    }
}

impl<S> Layer<S> for RateLayer {
    type Service = Limited<S>;

    fn layer(&self, inner: S) -> Limited<S> {
        Limited {
            inner,
            bucket: self.bucket.clone(),
        }
    }
}

impl<S, R> Service<R> for Limited<S>
where
    S: Service<R> + Clone + Send + 'static,
    S::Future: Send,
    S::Response: 'static,
    S::Error: 'static,
    R: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        // Readiness of the inner service is awaited by the request itself, after its wait.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: R) -> Self::Future {
        let inner = self.inner.clone();
        let wait = match &self.bucket {
            None => Duration::ZERO,
            Some(bucket) => bucket
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(Instant::now()),
        };
        Box::pin(async move {
            if !wait.is_zero() {
                tokio::time::sleep(wait).await;
            }
            inner.oneshot(request).await
        })
    }
}

#[cfg(test)]
mod tests;
