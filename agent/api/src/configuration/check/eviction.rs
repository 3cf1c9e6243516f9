//! Eviction thresholds: signals, quantities or percentages, grace periods.

use std::collections::BTreeMap;

use agent_core::Quantity;

use crate::configuration::{Eviction, GoDuration};
use crate::problem::Problem;

/// Signals of Kubernetes 1.37.
const SIGNALS: &[&str] = &[
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "containerfs.available",
    "containerfs.inodesFree",
    "allocatableMemory.available",
    "pid.available",
];

pub(super) fn check(eviction: &Eviction) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (field, thresholds) in [
        ("evictionHard", &eviction.eviction_hard),
        ("evictionSoft", &eviction.eviction_soft),
        ("evictionMinimumReclaim", &eviction.eviction_minimum_reclaim),
    ] {
        problems.extend(each(field, thresholds, threshold));
    }
    let grace = &eviction.eviction_soft_grace_period;
    problems.extend(each("evictionSoftGracePeriod", grace, |text| {
        text.parse::<GoDuration>()
            .map(drop)
            .map_err(|error| error.to_string())
    }));
    for signal in eviction
        .eviction_soft
        .keys()
        .filter(|signal| !grace.contains_key(*signal))
    {
        let message = "it needs an entry in evictionSoftGracePeriod";
        problems.push(Problem::new(format!("evictionSoft.{signal}"), message));
    }
    problems
}

fn each(
    field: &str,
    map: &BTreeMap<String, String>,
    judge: fn(&str) -> Result<(), String>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (signal, text) in map {
        let path = format!("{field}.{signal}");
        if !SIGNALS.contains(&signal.as_str()) {
            let allowed = SIGNALS.join(", ");
            problems.push(Problem::new(
                &path,
                format!("no such signal, there are {allowed}"),
            ));
        }
        if let Err(message) = judge(text) {
            problems.push(Problem::new(path, message));
        }
    }
    problems
}

/// A quantity that is not negative, or a percentage from 0 to 100.
fn threshold(text: &str) -> Result<(), String> {
    let wrong = || format!("{text:?} is wrong, it must be a quantity such as 100Mi or 0% to 100%");
    match text.strip_suffix('%') {
        Some(number) => {
            let percent: f64 = number.parse().map_err(|_| wrong())?;
            (0.0..=100.0)
                .contains(&percent)
                .then_some(())
                .ok_or_else(wrong)
        }
        None => {
            let quantity: Quantity = text.parse().map_err(|_| wrong())?;
            (!quantity.is_negative()).then_some(()).ok_or_else(wrong)
        }
    }
}
