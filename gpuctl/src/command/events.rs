//! `gpuctl events`

use serde::Serialize;

use super::{Done, Session};
use crate::exit::{CommandError, Exit};
use crate::record::{Event, Gpu};
use crate::source::Agent;
use crate::view;

#[derive(Serialize)]
struct Events<'a> {
    events: &'a [Event],
}

pub(super) async fn run(session: &Session, follow: bool) -> Done {
    let agent = session.source.agent().await?;
    let gpus = agent.gpus().await?;
    if follow {
        return tokio::select! {
            done = self::follow(session, &agent, &gpus) => done,
            // Events that were not printed yet are kept by the agent.
            _ = tokio::signal::ctrl_c() => Ok(Exit::Fine),
        };
    }
    let events = agent.events(false).await?.all().await?;
    let record = Events { events: &events };
    session
        .output
        .show(&record, |screen| view::events(&events, &gpus, screen))?;
    Ok(Exit::Fine)
}

async fn follow(session: &Session, agent: &Agent, gpus: &[Gpu]) -> Done {
    let mut events = agent.events(true).await?;
    let mut first = true;
    while let Some(event) = events.next().await? {
        session.output.show_next(&event, |screen| {
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
