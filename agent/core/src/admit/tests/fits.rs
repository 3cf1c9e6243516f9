use super::*;

#[test]
fn resources_are_counted_with_those_of_the_others() {
    let other = pod(&[
        ("cpu", "1500m"),
        ("memory", "512Mi"),
        ("nvidia.com/gpu", "1"),
    ]);
    let rows = [
        (
            pod(&[
                ("cpu", "500m"),
                ("memory", "512Mi"),
                ("nvidia.com/gpu", "1"),
            ]),
            "ok",
        ),
        (
            pod(&[("cpu", "501m")]),
            "OutOfcpu: Node didn't have enough resource: cpu, requested: 501, used: 1500, capacity: 2000",
        ),
        (
            pod(&[("memory", "600Mi")]),
            "OutOfmemory: Node didn't have enough resource: memory, requested: 629145600, used: 536870912, capacity: 1073741824",
        ),
        (
            pod(&[("ephemeral-storage", "11Gi")]),
            "OutOfephemeral-storage: Node didn't have enough resource: ephemeral-storage, requested: 11811160064, used: 0, capacity: 10737418240",
        ),
        (
            pod(&[("nvidia.com/gpu", "2")]),
            "OutOfnvidia.com/gpu: Node didn't have enough resource: nvidia.com/gpu, requested: 2, used: 1, capacity: 2",
        ),
        (
            pod(&[("hugepages-2Mi", "4Mi")]),
            "OutOfhugepages-2Mi: Node didn't have enough resource: hugepages-2Mi, requested: 4194304, used: 0, capacity: 0",
        ),
        // One that the node does not have is the cluster's; huge pages are not.
        (pod(&[("example.com/licence", "5")]), "ok"),
        (
            pod(&[("hugepages-1Gi", "1Gi")]),
            "OutOfhugepages-1Gi: Node didn't have enough resource: hugepages-1Gi, requested: 1073741824, used: 0, capacity: 0",
        ),
        // Not a resource that is counted.
        (pod(&[("storage", "1Ti")]), "ok"),
    ];
    for (needs, expected) in rows {
        assert_eq!(
            verdict(&needs, std::slice::from_ref(&other), &node()),
            expected
        );
    }
}

#[test]
fn what_asks_for_nothing_fits_into_an_overcommitted_node() {
    let other = pod(&[("cpu", "5")]);
    assert_eq!(verdict(&pod(&[("cpu", "0")]), &[other], &node()), "ok");
}

#[test]
fn pods_are_counted() {
    let others = vec![Needs::default(); 3];
    assert_eq!(
        verdict(&Needs::default(), &others, &node()),
        "OutOfpods: Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3"
    );
    assert_eq!(verdict(&Needs::default(), &others[..2], &node()), "ok");
}

fn port(address: &str, protocol: &str, port: i32) -> HostPort {
    HostPort {
        address: address.to_owned(),
        protocol: protocol.to_owned(),
        port,
    }
}

#[test]
fn host_ports_are_taken_once() {
    let with = |port: HostPort| Needs {
        host_ports: vec![port],
        ..Needs::default()
    };
    let taken = "NodePorts: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports";
    let rows = [
        (port("", "TCP", 80), port("", "", 80), taken),
        (port("", "TCP", 80), port("", "UDP", 80), "ok"),
        (port("", "TCP", 80), port("", "TCP", 81), "ok"),
        (port("10.0.0.1", "TCP", 80), port("", "TCP", 80), taken),
        (port("", "TCP", 80), port("10.0.0.1", "TCP", 80), taken),
        (
            port("10.0.0.1", "TCP", 80),
            port("10.0.0.2", "TCP", 80),
            "ok",
        ),
        (
            port("10.0.0.1", "TCP", 80),
            port("10.0.0.1", "TCP", 80),
            taken,
        ),
    ];
    for (mine, theirs, expected) in rows {
        let row = format!("{mine:?} {theirs:?}");
        assert_eq!(
            verdict(&with(mine), &[with(theirs)], &node()),
            expected,
            "{row}"
        );
    }
}

#[test]
fn the_node_name_has_to_match() {
    let mut needs = Needs {
        node_name: "n2".to_owned(),
        ..Needs::default()
    };
    assert_eq!(
        verdict(&needs, &[], &node()),
        "NodeName: Predicate NodeName failed: node(s) didn't match the requested node name"
    );
    needs.node_name = "n1".to_owned();
    assert_eq!(verdict(&needs, &[], &node()), "ok");
}

fn toleration(key: &str, operator: &str, value: &str, effect: &str) -> Toleration {
    Toleration {
        key: key.to_owned(),
        operator: operator.to_owned(),
        value: value.to_owned(),
        effect: effect.to_owned(),
    }
}

#[test]
fn taints_with_no_execute_are_checked_except_for_static_pods() {
    let mut offer = node();
    let taint = |key: &str, effect: &str| Taint {
        key: key.to_owned(),
        value: "v".to_owned(),
        effect: effect.to_owned(),
    };
    offer.taints = vec![taint("a", "NoExecute"), taint("b", "NoSchedule")];
    let refused = "TaintToleration: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate";
    let rows = [
        (vec![], refused),
        (vec![toleration("a", "Exists", "", "NoExecute")], "ok"),
        (vec![toleration("", "Exists", "", "")], "ok"),
        (vec![toleration("a", "", "v", "")], "ok"),
        (vec![toleration("a", "Equal", "w", "")], refused),
        (vec![toleration("a", "Exists", "", "NoSchedule")], refused),
        (vec![toleration("b", "Exists", "", "")], refused),
        (vec![toleration("a", "Gt", "1", "")], refused),
    ];
    for (tolerations, expected) in rows {
        let needs = Needs {
            tolerations,
            ..Needs::default()
        };
        assert_eq!(verdict(&needs, &[], &offer), expected);
    }
    let needs = Needs {
        is_static: true,
        ..Needs::default()
    };
    assert_eq!(verdict(&needs, &[], &offer), "ok");
}
