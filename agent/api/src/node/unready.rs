//! What stands against the Ready condition.

use std::time::Duration;

use agent_core::Time;
use agent_loops::RuntimeWatch;
use agent_loops::ports::{RuntimeCondition, RuntimeConditions};

/// A runtime that does not answer for this long is down (Kubernetes 1.37).
const DOWN: Duration = Duration::from_secs(30);
/// A runtime whose pods could not be listed for this long is not usable (Kubernetes 1.37).
const UNLISTED: Duration = Duration::from_secs(180);

/// What is known of the runtime's health.
#[derive(Clone, Debug, Default)]
pub(crate) struct RuntimeHealth {
    /// Its newest conditions; `None` until it has answered.
    pub(crate) conditions: Option<RuntimeConditions>,
    /// When it last said that it is ready.
    pub(crate) ready_at: Option<Time>,
}

impl RuntimeHealth {
    /// Takes in an answer.
    pub(crate) fn answered(&mut self, conditions: RuntimeConditions, now: Time) {
        if conditions
            .runtime
            .as_ref()
            .is_some_and(|runtime| runtime.status)
        {
            self.ready_at = Some(now);
        }
        self.conditions = Some(conditions);
    }

    /// All causes in the words of Kubernetes 1.37, that people and programs look for.
    pub(crate) fn causes(&self, watch: &RuntimeWatch, now: Time) -> Vec<String> {
        let mut causes = Vec::new();
        match self.ready_at {
            None => {
                causes.push("container runtime status check may not have completed yet".to_owned())
            }
            Some(at) if now.since(at) >= DOWN => {
                causes.push("container runtime is down".to_owned())
            }
            Some(_) => {}
        }
        causes.extend(unlisted(watch, now));
        match &self.conditions {
            None => causes.push("network state unknown".to_owned()),
            Some(conditions) => {
                let runtime = (
                    "container runtime not ready",
                    "RuntimeReady",
                    &conditions.runtime,
                );
                let network = (
                    "container runtime network not ready",
                    "NetworkReady",
                    &conditions.network,
                );
                causes.extend([runtime, network].into_iter().filter_map(cause));
            }
        }
        causes
    }
}

fn unlisted(watch: &RuntimeWatch, now: Time) -> Option<String> {
    let why = match watch.listed_at {
        None => "pleg has yet to be successful".to_owned(),
        Some(at) if now.since(at) > UNLISTED => {
            let seconds = now.since(at).as_secs();
            format!("pleg was last seen active {seconds}s ago; threshold is 3m0s")
        }
        Some(_) => return None,
    };
    Some(format!("PLEG is not healthy: {why}"))
}

fn cause((words, name, condition): (&str, &str, &Option<RuntimeCondition>)) -> Option<String> {
    match condition {
        Some(condition) if condition.status => None,
        Some(RuntimeCondition {
            status,
            reason,
            message,
        }) => Some(format!(
            "{words}: {name}={status} reason:{reason} message:{message}"
        )),
        // What Go prints for a condition that is not there.
        None => Some(format!("{words}: <nil>")),
    }
}

#[cfg(test)]
mod tests;
