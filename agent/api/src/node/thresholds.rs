//! Hard eviction thresholds, as far as they lower what pods may use.

use std::collections::BTreeMap;

use agent_core::Quantity;

use crate::problem::Problem;

/// An amount, or a share of the capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Threshold {
    /// This much.
    Amount(Quantity),
    /// This share, 0 to 1. Single precision as in Kubernetes, which shows in the last digits.
    Share(f32),
}

impl Threshold {
    /// The amount of a resource with this capacity, in whole units.
    pub(crate) fn of(self, capacity: Quantity) -> Quantity {
        match self {
            Self::Amount(amount) => amount,
            Self::Share(share) => Quantity::whole(part(capacity.value(), share)),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "the rounding of Kubernetes 1.37: double precision, cut off"
)]
fn part(capacity: i64, share: f32) -> i64 {
    (capacity as f64 * f64::from(share)) as i64
}

/// The hard threshold of `signal`, if it has one. `0%` and `100%` switch it off.
pub(crate) fn hard_threshold(
    hard: &BTreeMap<String, String>,
    signal: &str,
    problems: &mut Vec<Problem>,
) -> Option<Threshold> {
    let text = hard.get(signal)?;
    let threshold = match text.strip_suffix('%') {
        Some("0" | "100") => return None,
        Some(percent) => percent
            .parse::<f32>()
            .ok()
            .filter(|percent| (0.0..=100.0).contains(percent))
            .map(|percent| Threshold::Share(percent / 100.0)),
        None => text.parse().ok().map(Threshold::Amount),
    };
    if threshold.is_none() {
        let message =
            format!("{text:?} is no amount and no percentage, write for instance 1Gi or 10%");
        problems.push(Problem::new(format!("evictionHard.{signal}"), message));
    }
    threshold
}

#[cfg(test)]
mod tests;
