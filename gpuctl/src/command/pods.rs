//! `gpuctl pods`

use serde::Serialize;

use super::{Done, Session};
use crate::exit::Exit;
use crate::record::Pod;
use crate::view;

#[derive(Serialize)]
struct Pods<'a> {
    pods: &'a [Pod],
}

pub(super) async fn run(session: &Session) -> Done {
    let agent = session.source.agent().await?;
    let pods = agent.pods().await?;
    let gpus = agent.gpus().await?;
    session.output.show(&Pods { pods: &pods }, |screen| {
        view::pods(&pods, &gpus, screen)
    })?;
    Ok(Exit::Fine)
}
