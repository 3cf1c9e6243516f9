//! An HTTP server in the node's network that remembers what it was asked.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, ensure};
use e2e::{Netns, until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::scenarios::POD_LIMIT;

/// The first lines of requests, without the protocol.
type Lines = Arc<Mutex<Vec<String>>>;

/// A server that ends when dropped.
pub(super) struct Requests {
    lines: Lines,
    _task: JoinSet<()>,
}

impl Requests {
    /// Answers everything with 200.
    pub(super) fn start(netns: &Netns, port: u16) -> Result<Requests> {
        let listener = netns.listen(([0, 0, 0, 0], port).into())?;
        let lines = Lines::default();
        let mut task = JoinSet::new();
        task.spawn(serve(listener, lines.clone()));
        Ok(Requests { lines, _task: task })
    }

    /// Waits until it was asked exactly this, in this order.
    pub(super) async fn are(&self, expected: &[&str]) -> Result<()> {
        until(&format!("requests {expected:?}"), POD_LIMIT, async || {
            let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
            ensure!(*lines == expected, "it was asked {lines:?}");
            Ok(())
        })
        .await
    }
}

async fn serve(listener: TcpListener, lines: Lines) {
    while let Ok((stream, _)) = listener.accept().await {
        // One that sends half a request is not noted, which a scenario sees.
        let _ = answer(stream, &lines).await;
    }
}

async fn answer(mut stream: TcpStream, lines: &Lines) -> Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let byte = stream.read_u8().await?;
        request.push(byte);
    }
    let text = String::from_utf8_lossy(&request);
    let line = text.lines().next().unwrap_or_default();
    let line = line.trim_end_matches(" HTTP/1.1").to_owned();
    lines
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(line);
    stream
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        .await?;
    Ok(())
}
