//! `gpuctl top`

use std::time::Duration;

use super::{Context, Done, completeness};
use crate::exit::Exit;
use crate::output::note;
use crate::view;

/// The agent's figures are not newer than its last reading; NVML's own averages cover about a second.
const PERIOD: Duration = Duration::from_secs(2);

pub(super) async fn run(context: &Context, once: bool) -> Done {
    if once {
        let machine = context.source.machine().await;
        context
            .output
            .show(&machine, |screen| view::top(&machine, screen))?;
        return Ok(completeness(&machine));
    }
    tokio::select! {
        done = repeat(context) => done,
        // Nothing is half done that would matter.
        _ = tokio::signal::ctrl_c() => Ok(Exit::Fine),
    }
}

async fn repeat(context: &Context) -> Done {
    let mut period = tokio::time::interval(PERIOD);
    period.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        period.tick().await;
        let (machine, without_agent) = context.source.ask().await;
        if context.output.is_live() {
            context.output.clear()?;
        }
        if let Some(why) = without_agent {
            note(&why);
        }
        context
            .output
            .show_next(&machine, |screen| view::top(&machine, screen))?;
    }
}
