//! Values that are of the right type and still wrong: those that the API server refuses and that
//! would do harm here or be misread. Every problem is found, so that one edit mends a manifest.

mod container;
mod mounts;
mod names;
mod pod;
mod probes;
mod resources;
mod volumes;

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Pod, PodSpec};

use crate::problem::Problem;

/// Everything that is wrong with a pod that has its identity and defaults. `named`: the manifest
/// had a name.
pub(super) fn all(pod: &Pod, named: bool) -> Vec<Problem> {
    let mut problems = Problems::default();
    pod::metadata(&pod.metadata, named, &mut problems);
    match &pod.spec {
        Some(spec) => self::spec(spec, &mut problems),
        None => problems.add("spec", "it is missing"),
    }
    problems.0
}

fn spec(spec: &PodSpec, problems: &mut Problems) {
    pod::spec(spec, problems);
    volumes::check(spec, problems);
    let mut seen = BTreeSet::new();
    let mut host_ports = BTreeSet::new();
    let init = spec.init_containers.iter().flatten().enumerate();
    for (at, entry) in init {
        let path = format!("spec.initContainers[{at}]");
        container::check(
            &container::Place {
                spec,
                init: true,
                path: &path,
            },
            entry,
            problems,
        );
        container::unique(entry, &path, &mut seen, problems);
        // Plain init containers run one after the other, so only sidecars hold their host ports.
        if entry.restart_policy.as_deref() == Some("Always") {
            container::host_ports(entry, &path, &mut host_ports, problems);
        }
    }
    if spec.containers.is_empty() {
        problems.add("spec.containers", "there must be at least one");
    }
    for (at, entry) in spec.containers.iter().enumerate() {
        let path = format!("spec.containers[{at}]");
        container::check(
            &container::Place {
                spec,
                init: false,
                path: &path,
            },
            entry,
            problems,
        );
        container::unique(entry, &path, &mut seen, problems);
        container::host_ports(entry, &path, &mut host_ports, problems);
    }
}

/// What was found so far.
#[derive(Debug, Default)]
struct Problems(Vec<Problem>);

impl Problems {
    fn add(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.0.push(Problem::new(field, message));
    }

    /// Adds a problem when `wrong`.
    fn when(&mut self, wrong: bool, field: impl Into<String>, message: &str) {
        if wrong {
            self.add(field, message);
        }
    }

    /// An absent value is right; another one must be in `allowed`.
    fn choice(&mut self, value: Option<&str>, field: impl Into<String>, allowed: &[&str]) {
        if let Some(value) = value.filter(|value| !allowed.contains(value)) {
            let allowed = allowed.join(", ");
            self.add(
                field,
                format!("{value:?} is wrong, it must be one of {allowed}"),
            );
        }
    }

    /// An absent value is right; another one must be in the range.
    fn range(&mut self, value: Option<i64>, field: impl Into<String>, low: i64, high: i64) {
        if let Some(value) = value.filter(|value| !(low..=high).contains(value)) {
            let allowed = match high {
                i64::MAX => format!("{low} or more"),
                _ => format!("between {low} and {high}"),
            };
            self.add(field, format!("{value} is wrong, it must be {allowed}"));
        }
    }
}
