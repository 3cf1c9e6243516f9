#![allow(clippy::unwrap_used)]

mod affinity;
mod fits;
mod sysctls;

use super::*;

fn amounts(list: &[(&str, &str)]) -> BTreeMap<ResourceName, Quantity> {
    list.iter()
        .map(|(name, amount)| (ResourceName::new(name), amount.parse().unwrap()))
        .collect()
}

fn pod(requests: &[(&str, &str)]) -> Needs {
    Needs {
        requests: amounts(requests),
        ..Needs::default()
    }
}

fn node() -> NodeOffer {
    NodeOffer {
        name: "n1".to_owned(),
        labels: [
            ("pool".to_owned(), "gpu".to_owned()),
            ("rank".to_owned(), "7".to_owned()),
        ]
        .into(),
        allocatable: amounts(&[
            ("cpu", "2"),
            ("memory", "1Gi"),
            ("ephemeral-storage", "10Gi"),
            ("pods", "3"),
            ("nvidia.com/gpu", "2"),
            ("hugepages-2Mi", "0"),
        ]),
        kernel: Some((5, 10)),
        pod_level_resources: true,
        ..NodeOffer::default()
    }
}

/// `REASON: message`, or `ok`.
fn verdict(needs: &Needs, others: &[Needs], offer: &NodeOffer) -> String {
    match admit(needs, others, offer) {
        Ok(()) => "ok".to_owned(),
        Err(rejection) => format!("{}: {}", rejection.reason, rejection.message),
    }
}

#[test]
fn operating_system_groups_and_features() {
    type Change = fn(&mut Needs);
    let mut offer = node();
    let cases: [(Change, &str); 6] = [
        (
            |pod| pod.os_label = Some("windows".to_owned()),
            "PodOSSelectorNodeLabelDoesNotMatch: Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
        ),
        (
            |pod| pod.os = Some("windows".to_owned()),
            "PodOSNotSupported: Failed to admit pod as the OS field doesn't match node OS",
        ),
        (
            |pod| pod.strict_groups = true,
            "SupplementalGroupsPolicyNotSupported: SupplementalGroupsPolicy=Strict is not supported in this node",
        ),
        (
            |pod| pod.app_armor = true,
            "AppArmor: Cannot enforce AppArmor: AppArmor is not enabled on the host",
        ),
        (
            |pod| pod.features = ["B".to_owned(), "A".to_owned(), "C".to_owned()].into(),
            "PodFeatureUnsupported: Pod requires node features that are not available: A, C",
        ),
        (|pod| pod.os = Some("linux".to_owned()), "ok"),
    ];
    offer.features = ["B".to_owned()].into();
    for (change, expected) in cases {
        let mut needs = Needs::default();
        change(&mut needs);
        assert_eq!(verdict(&needs, &[], &offer), expected);
    }
    offer.pod_level_resources = false;
    let needs = Needs {
        pod_level_resources: true,
        ..Needs::default()
    };
    assert_eq!(
        verdict(&needs, &[], &offer),
        "PodLevelResourcesNotSupported: PodLevelResources feature gate is disabled"
    );
}

#[test]
fn the_first_check_that_fails_is_told() {
    let mut needs = pod(&[("cpu", "9"), ("memory", "9Gi")]);
    needs.node_name = "other".to_owned();
    needs.app_armor = true;
    assert!(verdict(&needs, &[], &node()).starts_with("OutOfcpu"));
    // Freeing resources does not help a critical pod that is on the wrong node.
    needs.is_critical = true;
    assert!(verdict(&needs, &[], &node()).starts_with("NodeName"));
    needs.os = Some("windows".to_owned());
    assert!(verdict(&needs, &[], &node()).starts_with("PodOSNotSupported"));
    needs.sysctls.names = vec!["kernel.panic".to_owned()];
    assert!(verdict(&needs, &[], &node()).starts_with("SysctlForbidden"));
}

#[test]
fn the_status_says_that_it_was_rejected() {
    let rejection = Rejection::no_node();
    assert_eq!(rejection.reason, "InvalidNodeInfo");
    assert_eq!(
        rejection.status_message(),
        "Pod was rejected: Kubelet cannot get node info."
    );
}
