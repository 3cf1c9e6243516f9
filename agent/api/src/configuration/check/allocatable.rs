//! `enforceNodeAllocatable` and the reservations it enforces.

use std::collections::BTreeSet;

use crate::configuration::Resources;
use crate::problem::Problem;

const FIELD: &str = "enforceNodeAllocatable";
const ALLOWED: &[&str] = &[
    "none",
    "pods",
    "system-reserved",
    "system-reserved-compressible",
    "kube-reserved",
    "kube-reserved-compressible",
];

pub(super) fn check(resources: &Resources) -> Vec<Problem> {
    let listed = &resources.enforce_node_allocatable;
    let has = |word: &str| listed.iter().any(|item| item == word);
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    for word in listed {
        if !ALLOWED.contains(&word.as_str()) {
            let allowed = ALLOWED.join(", ");
            problems.push(Problem::new(
                FIELD,
                format!("{word:?} is wrong, it must be one of {allowed}"),
            ));
        }
        if !seen.insert(word) {
            problems.push(Problem::new(FIELD, format!("{word:?} is listed twice")));
        }
    }
    for (part, cgroup, field) in [
        (
            "system-reserved",
            &resources.system_reserved_cgroup,
            "systemReservedCgroup",
        ),
        (
            "kube-reserved",
            &resources.kube_reserved_cgroup,
            "kubeReservedCgroup",
        ),
    ] {
        let compressible = format!("{part}-compressible");
        if has(part) && has(&compressible) {
            let message = format!("{part:?} and {compressible:?} exclude each other");
            problems.push(Problem::new(FIELD, message));
        }
        if (has(part) || has(&compressible)) && cgroup.is_empty() {
            let message = format!("it must name a cgroup, since {FIELD} has {part:?}");
            problems.push(Problem::new(field, message));
        }
    }
    if has("none") && listed.len() > 1 {
        problems.push(Problem::new(FIELD, "\"none\" allows nothing beside it"));
    }
    if !resources.cgroups_per_qos && listed.iter().any(|word| word != "none") {
        problems.push(Problem::new(
            "cgroupsPerQOS",
            format!("it must be true, or {FIELD} [none]"),
        ));
    }
    if !resources.system_cgroups.is_empty() && resources.cgroup_root.is_empty() {
        problems.push(Problem::new("systemCgroups", "it needs cgroupRoot"));
    }
    let reserved_cgroups =
        !resources.system_reserved_cgroup.is_empty() || !resources.kube_reserved_cgroup.is_empty();
    if !resources.reserved_system_cpus.is_empty() && reserved_cgroups {
        let message = "it cannot be used together with systemReservedCgroup or kubeReservedCgroup";
        problems.push(Problem::new("reservedSystemCPUs", message));
    }
    problems
}
