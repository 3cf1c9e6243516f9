//! `gpuctl explain pod`

use serde::Serialize;

use super::{Context, Done};
use crate::exit::{CommandError, Exit};
use crate::record::{Event, Pod};
use crate::view;

/// Events of the pod that are shown, the newest ones: a pod that starts makes about five.
const EVENTS: usize = 10;

#[derive(Serialize)]
struct Explanation<'a> {
    verdict: &'a str,
    pod: &'a Pod,
    events: &'a [Event],
}

pub(super) async fn run(context: &Context, name: &str) -> Done {
    let agent = context.source.agent().await?;
    let pods = agent.pods().await?;
    let pod = find(&pods, name)?;
    let gpus = agent.machine().await?.gpus;
    let full_name = pod.full_name();
    let mut events = agent.events(false).await?.all().await?;
    events.retain(|event| event.is_about(&full_name));
    let events = events.split_off(events.len().saturating_sub(EVENTS));
    let verdict = pod.verdict();
    let record = Explanation {
        verdict: &verdict,
        pod,
        events: &events,
    };
    context
        .output
        .show(&record, |screen| view::pod(pod, &events, &gpus, screen))?;
    Ok(Exit::Fine)
}

/// The pod with this name; the namespace may be left out where only one has it.
fn find<'a>(pods: &'a [Pod], name: &str) -> Result<&'a Pod, CommandError> {
    let is_named = |pod: &&Pod| match name.split_once('/') {
        Some((namespace, name)) => pod.namespace == namespace && pod.name == name,
        None => pod.name == name,
    };
    let found: Vec<&Pod> = pods.iter().filter(is_named).collect();
    match found.as_slice() {
        [pod] => Ok(pod),
        [] => Err(CommandError::NotFound(unknown(pods, name))),
        several => {
            let names: Vec<String> = several.iter().map(|pod| pod.full_name()).collect();
            let text = format!(
                "several pods are called {name}: name one of {}",
                names.join(", ")
            );
            Err(CommandError::NotFound(text))
        }
    }
}

/// A static pod's name ends with that of the node, which people leave out.
fn unknown(pods: &[Pod], name: &str) -> String {
    let part = name.rsplit('/').next().unwrap_or(name);
    let similar = pods
        .iter()
        .filter(|pod| pod.name.contains(part))
        .map(Pod::full_name);
    let similar: Vec<String> = similar.collect();
    match similar.is_empty() {
        true => format!("no pod {name} on this node; gpuctl pods lists all"),
        false => format!(
            "no pod {name} on this node; is it {}?",
            similar.join(" or ")
        ),
    }
}

#[cfg(test)]
mod tests;
