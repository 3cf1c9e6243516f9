//! Requests and limits.

use std::collections::BTreeMap;

use agent_core::Quantity;
use k8s_openapi::api::core::v1::{ResourceFieldSelector, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Written;

use super::Problems;
use crate::manifest::want::is_extended;

type Amounts = BTreeMap<String, Written>;

pub(super) fn check(resources: Option<&ResourceRequirements>, path: &str, problems: &mut Problems) {
    let Some(resources) = resources else { return };
    let none = Amounts::new();
    let limits = resources.limits.as_ref().unwrap_or(&none);
    let requests = resources.requests.as_ref().unwrap_or(&none);
    for (kind, amounts) in [("limits", limits), ("requests", requests)] {
        // A request that equals its limit was filled in from it, so it is told there.
        let copied = |name: &str, amount| kind == "requests" && limits.get(name) == Some(amount);
        for (name, amount) in amounts
            .iter()
            .filter(|(name, amount)| !copied(name, amount))
        {
            let field = format!("{path}.{kind}.{name}");
            known(name, &field, problems);
            quantity(name, amount, &field, problems);
        }
    }
    for (name, request) in requests {
        let field = format!("{path}.requests.{name}");
        let whole = is_extended(name) || name.starts_with("hugepages-");
        let Some(limit) = limits.get(name) else {
            problems.when(whole, field, "it needs the same amount in limits");
            continue;
        };
        let (Ok(asked), Ok(most)) = (request.0.parse::<Quantity>(), limit.0.parse()) else {
            continue;
        };
        if asked > most {
            problems.add(
                field,
                format!("{} is above the limit {}", request.0, limit.0),
            );
        } else if whole && asked < most {
            problems.add(
                field,
                format!("{} must be equal to the limit {}", request.0, limit.0),
            );
        }
    }
}

/// The divisor of a resource in an environment variable or file.
pub(super) fn divisor(reference: &ResourceFieldSelector, path: &str, problems: &mut Problems) {
    if let Some(divisor) = &reference.divisor {
        quantity("", divisor, &format!("{path}.divisor"), problems);
    }
}

/// A name without a domain must be one of Kubernetes' own.
fn known(name: &str, field: &str, problems: &mut Problems) {
    let own =
        ["cpu", "memory", "ephemeral-storage"].contains(&name) || name.starts_with("hugepages-");
    let message = "no such resource; there are cpu, memory, ephemeral-storage, hugepages-<size> and \
                   names with a domain such as nvidia.com/gpu";
    problems.when(!own && !name.contains('/'), field, message);
    if let Some(size) = name.strip_prefix("hugepages-") {
        let wrong = size
            .parse::<Quantity>()
            .map_or(true, |size| size.value() <= 0);
        problems.when(wrong, field, "the page size must be a quantity such as 2Mi");
    }
}

pub(super) fn quantity(name: &str, amount: &Written, field: &str, problems: &mut Problems) {
    match amount.0.parse::<Quantity>() {
        Err(error) => problems.add(field, error.to_string()),
        Ok(quantity) if quantity.is_negative() => {
            problems.add(field, format!("{} is below zero", amount.0));
        }
        Ok(quantity) if is_extended(name) => {
            let whole = quantity == Quantity::whole(quantity.value());
            let countable = u32::try_from(quantity.value()).is_ok();
            problems.when(
                !whole || !countable,
                field,
                "devices are counted in whole numbers",
            );
        }
        Ok(_) => {}
    }
}
