use std::sync::Arc;

use agent_core::ResourceName;
use agent_loops::ports::ResourceCount;

use super::*;
use crate::node::testing::{flags, machine, settings, settings_with};

const GPU: &str = "nvidia.com/gpu";

fn api_amounts(pairs: &[(&str, &str)]) -> Amounts {
    let own = |(name, text): &(&str, &str)| ((*name).to_owned(), ApiQuantity((*text).to_owned()));
    pairs.iter().map(own).collect()
}

fn present(capacity: u64, allocatable: u64) -> DeviceFacts {
    let count = ResourceCount {
        capacity,
        allocatable,
    };
    DeviceFacts {
        present: Some(Arc::new([(ResourceName::new(GPU), count)].into())),
        ..DeviceFacts::default()
    }
}

#[test]
fn reservations_and_thresholds_are_not_for_pods() {
    let pair = |name: &str, amount: &str| (name.to_owned(), amount.to_owned());
    let settings = settings_with(&flags(), |configuration| {
        let reserved = [
            pair("cpu", "100m"),
            pair("memory", "1Gi"),
            pair("pid", "100"),
        ];
        configuration.resources.kube_reserved = reserved.into();
    });
    let mut machine = machine();
    machine
        .hugepages
        .insert("hugepages-2Mi".to_owned(), 512 << 20);
    let none = Amounts::new();
    let (capacity, allocatable) =
        amounts(&settings, &machine, &DeviceFacts::default(), (&none, &none));
    let expected = [
        ("cpu", "2"),
        ("ephemeral-storage", "100G"),
        ("hugepages-2Mi", "512Mi"),
        ("memory", "4Gi"),
        ("pods", "110"),
    ];
    assert_eq!(capacity, api_amounts(&expected));
    // 4 GiB less 1 GiB, the default threshold of 100 MiB and all huge pages.
    let expected = [
        ("cpu", "1900m"),
        ("ephemeral-storage", "89999999851"),
        ("hugepages-2Mi", "512Mi"),
        ("memory", "2460Mi"),
        ("pods", "110"),
    ];
    assert_eq!(allocatable, api_amounts(&expected));
}

#[test]
fn nothing_is_below_zero() {
    let pair = |name: &str, amount: &str| (name.to_owned(), amount.to_owned());
    let settings = settings_with(&flags(), |configuration| {
        let reserved = [pair("cpu", "3"), pair("memory", "8Gi")];
        configuration.resources.system_reserved = reserved.into();
    });
    let none = Amounts::new();
    let (_, allocatable) = amounts(
        &settings,
        &machine(),
        &DeviceFacts::default(),
        (&none, &none),
    );
    assert_eq!(allocatable["cpu"].0, "0");
    assert_eq!(allocatable["memory"].0, "0");
}

#[test]
fn devices_are_never_taken_away_by_a_restart() {
    let old = (
        api_amounts(&[(GPU, "8"), ("example.com/licence", "5")]),
        api_amounts(&[
            (GPU, "7"),
            ("example.com/licence", "5"),
            ("example.com/gone", "1"),
        ]),
    );
    let shown = |devices: &DeviceFacts| {
        let (capacity, allocatable) = amounts(&settings(), &machine(), devices, (&old.0, &old.1));
        assert_eq!(
            capacity["example.com/licence"].0, "5",
            "what others added stays"
        );
        assert!(
            !allocatable.contains_key("example.com/gone"),
            "what they removed goes"
        );
        (capacity[GPU].0.clone(), allocatable[GPU].0.clone())
    };
    let pair = |capacity: &str, allocatable: &str| (capacity.to_owned(), allocatable.to_owned());
    let mut devices = DeviceFacts::default();
    assert_eq!(shown(&devices), pair("8", "7"), "not known yet: as before");
    devices.replace(None);
    assert_eq!(shown(&devices), pair("8", "7"), "still not known");
    devices.replace(present(4, 3).present);
    assert_eq!(shown(&devices), pair("4", "3"));
    devices.replace(None);
    assert_eq!(
        shown(&devices),
        pair("4", "3"),
        "what was known stays known"
    );
    devices.replace(Some(Arc::default()));
    assert_eq!(shown(&devices), pair("0", "0"), "gone, and said so");
    devices.replace(present(2, 2).present);
    assert_eq!(shown(&devices), pair("2", "2"), "and there again");
}

#[test]
fn pods_are_bounded_in_two_ways() {
    let pods = |max, each| {
        let settings = settings_with(&flags(), |configuration| {
            configuration.pods.max_pods = max;
            configuration.pods.pods_per_core = each;
        });
        super::pods(&settings, &machine())
    };
    assert_eq!(pods(110, 0), 110);
    assert_eq!(pods(110, 10), 20);
    assert_eq!(pods(15, 10), 15);
}

#[test]
fn page_sizes_that_are_gone_go() {
    let old = api_amounts(&[("hugepages-1Gi", "1Gi")]);
    let (capacity, allocatable) = amounts(
        &settings(),
        &machine(),
        &DeviceFacts::default(),
        (&old, &old),
    );
    assert!(!capacity.contains_key("hugepages-1Gi") && !allocatable.contains_key("hugepages-1Gi"));
}

#[test]
fn local_storage_may_be_no_resource() {
    let settings = settings_with(&flags(), |configuration| {
        configuration.pods.local_storage_capacity_isolation = false;
    });
    let none = Amounts::new();
    let (capacity, _) = amounts(
        &settings,
        &machine(),
        &DeviceFacts::default(),
        (&none, &none),
    );
    assert!(!capacity.contains_key("ephemeral-storage"));
    assert!(missing(&settings, &capacity).is_empty());
    assert_eq!(
        missing(&crate::node::testing::settings(), &capacity),
        ["ephemeral-storage"]
    );
}
