#![allow(clippy::unwrap_used)]

use std::time::Duration;

use agent_core::Quantity;

use super::*;
use crate::node::testing::{flags, settings_with};

#[test]
fn periods_depend_on_each_other() {
    for (update, report, expected) in [
        (None, None, (10, 300)),
        (Some("20s"), None, (20, 20)),
        (None, Some("60s"), (10, 60)),
        (Some("20s"), Some("60s"), (20, 60)),
    ] {
        let settings = settings_with(&flags(), |configuration| {
            let node = &mut configuration.node;
            node.node_status_update_frequency = update.map(|text| text.parse().unwrap());
            node.node_status_report_frequency = report.map(|text| text.parse().unwrap());
        });
        let seconds = (
            settings.update_every.as_secs(),
            settings.report_every.as_secs(),
        );
        assert_eq!(seconds, expected, "{update:?} {report:?}");
    }
}

#[test]
fn reservations_add_up_and_listed_cpus_take_their_place() {
    let pair = |name: &str, amount: &str| (name.to_owned(), amount.to_owned());
    let with = |cpus: &str| {
        settings_with(&flags(), |configuration| {
            let resources = &mut configuration.resources;
            resources.system_reserved = [pair("cpu", "100m"), pair("memory", "1Gi")].into();
            resources.kube_reserved = [pair("cpu", "200m")].into();
            resources.reserved_system_cpus = cpus.to_owned();
        })
    };
    assert_eq!(with("").reserved["cpu"], Quantity::milli(300));
    assert_eq!(with("0-1,5,1").reserved["cpu"], Quantity::whole(3));
    assert_eq!(with("0-1").reserved["memory"], "1Gi".parse().unwrap());
}

#[test]
fn what_is_wrong_is_named() {
    let mut wrong = flags();
    wrong.node_ip = "10.0.0.1,10.0.0.2".to_owned();
    wrong.node_labels = [("kubernetes.io/mine".to_owned(), "x".to_owned())].into();
    wrong.register_with_taints = vec!["a:Never".to_owned()];
    let mut configuration = KubeletConfiguration::default();
    configuration.resources.system_reserved = [("cpu".to_owned(), "much".to_owned())].into();
    configuration.resources.reserved_system_cpus = "0-99999999999".to_owned();
    let thresholds = [("memory.available".to_owned(), "120%".to_owned())];
    configuration.eviction.eviction_hard = thresholds.into();
    let problems = NodeSettings::new(&configuration, &wrong).unwrap_err();
    let fields: Vec<&str> = problems
        .iter()
        .map(|problem| problem.field.as_str())
        .collect();
    let expected = [
        "--node-labels",
        "--node-ip",
        "--register-with-taints",
        "systemReserved.cpu",
        "reservedSystemCPUs",
        "evictionHard.memory.available",
    ];
    assert_eq!(fields, expected);
}

#[test]
fn the_name_is_resolved_only_when_it_decides() {
    let mut flags = flags();
    let resolves = |flags: &NodeFlags| settings_with(flags, |_| {}).name_to_resolve().is_some();
    assert!(!resolves(&flags), "--node-ip says it");
    flags.node_ip = String::new();
    assert!(resolves(&flags));
    flags.external_cloud_provider = true;
    assert!(!resolves(&flags), "the provider says it");
    flags.node_ip = "::".to_owned();
    assert!(resolves(&flags), "until the provider says it");
    flags.hostname = "10.0.0.9".to_owned();
    assert!(!resolves(&flags), "the name is an address");
}

#[test]
fn a_call_takes_no_longer_than_the_next_one_is_away() {
    let settings = settings_with(&flags(), |configuration| {
        configuration.node.node_lease_duration_seconds = 4;
    });
    assert_eq!(settings.call_limit(), Duration::from_secs(4));
}
