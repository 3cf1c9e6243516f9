//! Capacity, and what of it pods may use.

use std::collections::BTreeMap;

use agent_core::Quantity;
use agent_loops::ports::MachineFacts;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;

use super::facts::DeviceFacts;
use super::settings::NodeSettings;

/// Amounts as the API writes them.
pub(crate) type Amounts = BTreeMap<String, ApiQuantity>;

const EPHEMERAL_STORAGE: &str = "ephemeral-storage";
const HUGEPAGES: &str = "hugepages-";

/// Capacity and allocatable. What others have put into the old ones stays.
pub(crate) fn amounts(
    settings: &NodeSettings,
    machine: &MachineFacts,
    devices: &DeviceFacts,
    old: (&Amounts, &Amounts),
) -> (Amounts, Amounts) {
    let own = own(settings, machine);
    let mut capacity = old.0.clone();
    // A page size that this kernel no longer has.
    capacity.retain(|name, _| !name.starts_with(HUGEPAGES) || own.contains_key(name));
    capacity.extend(own.iter().map(|(name, amount)| api(name, *amount)));
    let mut allocatable: Amounts = capacity
        .iter()
        .map(|(name, amount)| (name.clone(), amount.clone()))
        .collect();
    if devices.present.is_none() {
        // Before the devices are known their old figures hold: a restart takes no device away.
        let extended = old.1.iter().filter(|(name, _)| is_extended(name));
        let known = extended.filter(|(name, _)| capacity.contains_key(*name));
        let known: Vec<_> = known
            .map(|(name, amount)| (name.clone(), amount.clone()))
            .collect();
        allocatable.extend(known);
    }
    let usable = usable(settings, &own);
    allocatable.extend(usable.iter().map(|(name, amount)| api(name, *amount)));
    for (name, shown, usable) in device_amounts(devices) {
        capacity.extend([api(&name, shown)]);
        allocatable.extend([api(&name, usable)]);
    }
    (capacity, allocatable)
}

/// Zero for all resources that are devices: this host knows nothing of them.
pub(crate) fn forget_devices(amounts: &mut Amounts) {
    for (name, amount) in amounts {
        if is_extended(name) {
            *amount = ApiQuantity("0".to_owned());
        }
    }
}

/// Resources that the Ready condition asks for and that are not there.
pub(crate) fn missing(settings: &NodeSettings, capacity: &Amounts) -> Vec<&'static str> {
    let storage = settings.local_storage.then_some(EPHEMERAL_STORAGE);
    let asked = ["cpu", "memory", "pods"].into_iter().chain(storage);
    asked.filter(|name| !capacity.contains_key(*name)).collect()
}

/// What the machine itself has.
fn own(settings: &NodeSettings, machine: &MachineFacts) -> BTreeMap<String, Quantity> {
    let mut own = BTreeMap::from([
        ("cpu".to_owned(), whole(machine.cpus)),
        ("memory".to_owned(), binary(machine.memory)),
        ("pods".to_owned(), Quantity::whole(pods(settings, machine))),
    ]);
    for (name, bytes) in &machine.hugepages {
        own.insert(name.clone(), binary(*bytes));
    }
    let storage = machine.ephemeral_storage.filter(|_| settings.local_storage);
    own.extend(storage.map(|bytes| (EPHEMERAL_STORAGE.to_owned(), whole(bytes))));
    own
}

fn pods(settings: &NodeSettings, machine: &MachineFacts) -> i64 {
    let cpus = i64::try_from(machine.cpus).unwrap_or(i64::MAX);
    match settings.pods_per_core {
        0 => settings.max_pods,
        each => cpus.saturating_mul(each).min(settings.max_pods),
    }
}

/// The machine's own resources without reservations and hard thresholds, at least nothing.
fn usable(settings: &NodeSettings, own: &BTreeMap<String, Quantity>) -> BTreeMap<String, Quantity> {
    let threshold = |name: &str| match name {
        "memory" => settings.memory_threshold,
        EPHEMERAL_STORAGE => settings.storage_threshold,
        _ => None,
    };
    let mut usable: BTreeMap<String, Quantity> = own
        .iter()
        .map(|(name, amount)| {
            let kept = settings.reserved.get(name).copied().unwrap_or_default();
            let kept = match threshold(name) {
                Some(threshold) => kept.plus(threshold.of(*amount)),
                None => kept,
            };
            // Pods are a limit, not an amount that could be kept back.
            let left = if name == "pods" {
                *amount
            } else {
                less(*amount, kept)
            };
            (name.clone(), left)
        })
        .collect();
    // Huge pages are taken out of memory, all of them, in use or not.
    let pages = own.iter().filter(|(name, _)| name.starts_with(HUGEPAGES));
    let pages: Vec<Quantity> = pages.map(|(_, bytes)| *bytes).collect();
    if let Some(memory) = usable.get_mut("memory") {
        *memory = pages.into_iter().fold(*memory, less);
    }
    usable
}

/// Name, capacity and allocatable of each device resource.
fn device_amounts(devices: &DeviceFacts) -> Vec<(String, Quantity, Quantity)> {
    let present = devices.present.iter().flat_map(|present| present.iter());
    let present = present.map(|(name, count)| {
        let usable = count.allocatable.min(count.capacity);
        (name.to_string(), whole(count.capacity), whole(usable))
    });
    let none = Quantity::default();
    let gone = devices
        .gone
        .iter()
        .map(|name| (name.to_string(), none, none));
    present.chain(gone).collect()
}

/// Kubernetes 1.37: a name with a domain outside of kubernetes.io.
fn is_extended(name: &str) -> bool {
    name.contains('/') && !name.contains("kubernetes.io/") && !name.starts_with("requests.")
}

fn less(amount: Quantity, kept: Quantity) -> Quantity {
    let left = amount.minus(kept);
    if left.is_negative() {
        Quantity::default()
    } else {
        left
    }
}

fn whole(number: u64) -> Quantity {
    Quantity::whole(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Bytes that are shown as Ki, Mi, Gi where that is exact.
fn binary(bytes: u64) -> Quantity {
    let exact = bytes
        .is_multiple_of(1024)
        .then(|| format!("{}Ki", bytes / 1024).parse().ok());
    exact.flatten().unwrap_or_else(|| whole(bytes))
}

fn api(name: &str, amount: Quantity) -> (String, ApiQuantity) {
    (name.to_owned(), ApiQuantity(amount.to_string()))
}

#[cfg(test)]
mod tests;
