//! A response body that can be broken off from outside.

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::watch;

/// The body of an answer until the watched value changes; then an error, which HTTP/2 carries as a reset and HTTP/1.1 as
/// the connection's end.
pub(crate) struct Cut<B> {
    body: B,
    cut: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl<B> Cut<B> {
    pub(crate) fn new(body: B, mut cuts: watch::Receiver<u64>) -> Cut<B> {
        let cut = Box::pin(async move {
            // An error means that the proxy is gone, and its answers with it.
            let _ = cuts.changed().await;
        });
        Cut { body, cut }
    }
}

impl<B> Body for Cut<B>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Unpin,
{
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.cut.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(Err("cut by the test's proxy".into())));
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
