//! `gpuctl health`

use serde::Serialize;

use super::{Context, Done, completeness};
use crate::exit::Exit;
use crate::record::{Machine, State, Verdict};
use crate::view;

#[derive(Serialize)]
struct Health<'a> {
    verdict: &'a Verdict,
    #[serde(flatten)]
    machine: &'a Machine,
}

pub(super) async fn run(context: &Context) -> Done {
    let machine = context.source.machine().await;
    let verdict = Verdict::of(&machine);
    let health = Health {
        verdict: &verdict,
        machine: &machine,
    };
    context
        .output
        .show(&health, |screen| view::health(&machine, &verdict, screen))?;
    match verdict.state {
        State::Unhealthy | State::Degraded => Ok(Exit::Problem),
        State::Unknown => Ok(Exit::Partial),
        State::Healthy => Ok(completeness(&machine)),
    }
}
