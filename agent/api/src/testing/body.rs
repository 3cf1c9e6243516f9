//! Bodies of answers.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Body, Frame};
use tokio::sync::mpsc;

/// A whole text, or events that come one by one.
pub(crate) struct Answer(UnsyncBoxBody<Bytes, Infallible>);

impl Answer {
    pub(super) fn whole(text: String) -> Self {
        Self(Full::new(Bytes::from(text)).boxed_unsync())
    }

    pub(super) fn events(lines: mpsc::Receiver<String>) -> Self {
        let frames = futures::stream::unfold(lines, async |mut lines| {
            let line = lines.recv().await?;
            Some((Ok(Frame::data(Bytes::from(line))), lines))
        });
        Self(StreamBody::new(frames).boxed_unsync())
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.0).poll_frame(context)
    }
}
