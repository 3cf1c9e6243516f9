//! Values that are of the right type and still wrong. The rules are those of the stock kubelet 1.37
//! and those of this build, each as one line of a table where it can be one.

mod allocatable;
mod durations;
mod eviction;
mod numbers;
mod pairs;
mod texts;

use super::KubeletConfiguration;
use crate::problem::Problem;

/// Everything that is wrong.
pub(crate) fn all(configuration: &KubeletConfiguration) -> Vec<Problem> {
    let mut problems = numbers::check(configuration);
    problems.extend(durations::check(configuration));
    problems.extend(pairs::check(configuration));
    problems.extend(texts::check(configuration));
    problems.extend(allocatable::check(&configuration.resources));
    problems.extend(eviction::check(&configuration.eviction));
    problems
}
