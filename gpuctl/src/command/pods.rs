//! `gpuctl pods`

use serde::Serialize;

use super::{Context, Done};
use crate::exit::Exit;
use crate::record::Pod;
use crate::view;

#[derive(Serialize)]
struct Pods<'a> {
    pods: &'a [Pod],
}

pub(super) async fn run(context: &Context) -> Done {
    let agent = context.source.agent().await?;
    let pods = agent.pods().await?;
    let machine = agent.machine().await?;
    context.output.show(&Pods { pods: &pods }, |screen| {
        view::pods(&pods, &machine, screen)
    })?;
    Ok(Exit::Fine)
}
