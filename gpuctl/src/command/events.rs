//! `gpuctl events`

use serde::Serialize;

use super::{Context, Done};
use crate::exit::{CommandError, Exit};
use crate::record::{Event, Gpu};
use crate::source::Agent;
use crate::view;

#[derive(Serialize)]
struct Events<'a> {
    events: &'a [Event],
}

pub(super) async fn run(context: &Context, follow: bool) -> Done {
    let agent = context.source.agent().await?;
    let gpus = agent.machine().await?.gpus;
    if follow {
        return tokio::select! {
            done = self::follow(context, &agent, &gpus) => done,
            // Events that were not printed yet are kept by the agent.
            _ = tokio::signal::ctrl_c() => Ok(Exit::Fine),
        };
    }
    let events = agent.events(false).await?.all().await?;
    let record = Events { events: &events };
    context
        .output
        .show(&record, |screen| view::events(&events, &gpus, screen))?;
    Ok(Exit::Fine)
}

async fn follow(context: &Context, agent: &Agent, gpus: &[Gpu]) -> Done {
    let mut events = agent.events(true).await?;
    let mut first = true;
    while let Some(event) = events.next().await? {
        context.output.show_next(&event, |screen| {
            let header = if first {
                view::events_header(screen)
            } else {
                String::new()
            };
            header + &view::event(&event, gpus, screen)
        })?;
        first = false;
    }
    Err(CommandError::Agent(events.ended()))
}
