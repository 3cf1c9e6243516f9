//! Whether the node has enough left.

use std::collections::BTreeMap;

use super::{Needs, NodeOffer, Rejection};
use crate::ids::ResourceName;
use crate::quantity::Quantity;

/// Everything that is not enough: `pods` first, then `cpu`, `memory`, `ephemeral-storage`, then the
/// others by name (the stock kubelet gives those in no order).
pub(super) fn lacking(needs: &Needs, others: &[&Needs], offer: &NodeOffer) -> Vec<Rejection> {
    let mut lacking = Vec::new();
    let allowed = offered(offer, "pods").unwrap_or_default().value();
    let count = i64::try_from(others.len()).unwrap_or(i64::MAX);
    if count.saturating_add(1) > allowed {
        lacking.push(out_of("pods", 1, count, allowed));
    }
    let used = sum(others);
    for name in ordered(&needs.requests) {
        let capacity = offered(offer, name.as_str());
        if !is_counted(name.as_str()) || (is_extended(name.as_str()) && capacity.is_none()) {
            // Extended resources that the node does not have are those of the cluster.
            continue;
        }
        let units = |amount: Quantity| match name.as_str() {
            "cpu" => amount.milli_value(),
            _ => amount.value(),
        };
        let of = |amounts: &BTreeMap<ResourceName, Quantity>| {
            units(amounts.get(name).copied().unwrap_or_default())
        };
        let requested = of(&needs.requests);
        let used = used.get(name).copied().unwrap_or_default();
        let capacity = units(capacity.unwrap_or_default());
        if requested > 0 && requested > capacity.saturating_sub(used) {
            lacking.push(out_of(name.as_str(), requested, used, capacity));
        }
    }
    lacking
}

/// What the other pods take, in the units of each resource: thousandths of `cpu`, whole units else.
/// Each pod is rounded up alone.
fn sum<'a>(others: &[&'a Needs]) -> BTreeMap<&'a ResourceName, i64> {
    let mut sum = BTreeMap::new();
    for (name, amount) in others.iter().flat_map(|other| &other.requests) {
        let units = match name.as_str() {
            "cpu" => amount.milli_value(),
            _ => amount.value(),
        };
        let total: &mut i64 = sum.entry(name).or_default();
        *total = total.saturating_add(units);
    }
    sum
}

/// Names in the order in which they are told.
fn ordered(requests: &BTreeMap<ResourceName, Quantity>) -> Vec<&ResourceName> {
    let rank = |name: &ResourceName| match name.as_str() {
        "cpu" => 0,
        "memory" => 1,
        "ephemeral-storage" => 2,
        _ => 3,
    };
    let mut names: Vec<&ResourceName> = requests.keys().collect();
    names.sort_by_key(|name| rank(name));
    names
}

/// Whether the scheduler counts a resource at all.
fn is_counted(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage")
        || name.starts_with("hugepages-")
        || name.starts_with("attachable-volumes-")
        || name.contains('/')
}

/// Whether it is a resource that somebody else than Kubernetes named.
fn is_extended(name: &str) -> bool {
    name.contains('/') && !name.contains("kubernetes.io/") && !name.starts_with("requests.")
}

fn offered(offer: &NodeOffer, name: &str) -> Option<Quantity> {
    offer.allocatable.get(&ResourceName::new(name)).copied()
}

fn out_of(name: &str, requested: i64, used: i64, capacity: i64) -> Rejection {
    Rejection::new(
        format!("OutOf{name}"),
        format!(
            "Node didn't have enough resource: {name}, requested: {requested}, used: {used}, \
             capacity: {capacity}"
        ),
    )
}
