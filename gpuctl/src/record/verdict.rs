//! Whether a machine is well, and in one sentence why not.

use serde::Serialize;

use super::{Gpu, Machine};

/// Whether a machine is well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Verdict {
    pub(crate) state: State,
    /// What is lost or wrong, by name.
    pub(crate) summary: String,
}

/// What the verdict is, mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    Healthy,
    /// Nothing speaks against it, but not all was read.
    Unknown,
    /// It works, and somebody should look.
    Degraded,
    /// Something is lost.
    Unhealthy,
}

impl Verdict {
    /// The worst of everything that is known.
    pub(crate) fn of(machine: &Machine) -> Self {
        let mut found = findings(machine);
        found.sort_by_key(|(state, _)| std::cmp::Reverse(*state));
        let state = found
            .iter()
            .map(|(state, _)| *state)
            .max()
            .unwrap_or(State::Healthy);
        let what: Vec<&str> = found.iter().map(|(_, what)| what.as_str()).collect();
        let summary = match (state, machine.gpus.len()) {
            (State::Healthy, 0) => "HEALTHY: the driver works; there are no GPUs".to_owned(),
            (State::Healthy, 1) => "HEALTHY: the GPU is well".to_owned(),
            (State::Healthy, number) => format!("HEALTHY: all {number} GPUs are well"),
            (State::Unknown, _) => format!("UNKNOWN: {}", what.join("; ")),
            (State::Degraded, _) => format!("DEGRADED: {}", what.join("; ")),
            (State::Unhealthy, _) => format!("UNHEALTHY: {}", what.join("; ")),
        };
        Self { state, summary }
    }
}

/// What is not as it should be, and how bad each is.
fn findings(machine: &Machine) -> Vec<(State, String)> {
    let mut found = Vec::new();
    let driver = &machine.driver.state;
    if !machine.driver.is_ready() {
        found.push((
            State::Unhealthy,
            format!("the driver is {driver}, so no GPU is watched"),
        ));
    }
    let known = u32::try_from(machine.gpus.len()).unwrap_or(u32::MAX);
    if known < machine.gpus_expected {
        let text = format!("{known} of {} GPUs are there", machine.gpus_expected);
        found.push((State::Unhealthy, text));
    }
    found.extend(machine.gpus.iter().filter_map(of_gpu));
    for problem in &machine.problems {
        let text = format!("problem with {}", problem.subject);
        found.push((State::Degraded, text));
    }
    found
}

fn of_gpu(gpu: &Gpu) -> Option<(State, String)> {
    let Gpu { index, health, .. } = gpu;
    let (state, word) = match health.state.as_str() {
        "healthy" => return None,
        "unmonitored" => return Some((State::Unknown, format!("GPU {index} was not read yet"))),
        "degraded" => (State::Degraded, "degraded"),
        word => (State::Unhealthy, word),
    };
    let action = match health.action.as_str() {
        "" | "none" => String::new(),
        action => format!(" ({action})"),
    };
    Some((state, format!("GPU {index} is {word}{action}")))
}
