use serde_json::{Value, json};

use super::{at, condition, next, node, pod, rendered, snapshot, with_main};
use crate::status::render::render;
use crate::status::testing::container;

const INIT: &str =
    r#"[{"name": "one", "image": "x"}, {"name": "side", "image": "x", "restartPolicy": "Always"}]"#;

fn init_spec() -> Value {
    let init: Value = serde_json::from_str(INIT).unwrap();
    json!({"spec": {"initContainers": init}})
}

#[test]
fn containers_and_gates_make_a_pod_ready() {
    let gates =
        json!({"spec": {"readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}]}});
    let open = |a: &str, b: &str| {
        let mut rest = gates.clone();
        rest["status"] =
            json!({"conditions": [{"type": "a", "status": a}, {"type": "b", "status": b}]});
        rest
    };
    let unready = "ContainersNotReady: containers with unready status: [main]";
    for (main, rest, containers, ready) in [
        ("main.0 run", json!({}), "True".to_owned(), "True".to_owned()),
        ("main.0 run unready", json!({}), format!("False {unready}"), format!("False {unready}")),
        ("main wait", json!({}), format!("False {unready}"), format!("False {unready}")),
        ("main.0 run", open("True", "True"), "True".to_owned(), "True".to_owned()),
        (
            "main.0 run",
            open("True", "False"),
            "True".to_owned(),
            "False ReadinessGatesNotReady: the status of pod readiness gate \"b\" is not \"True\", but False".to_owned(),
        ),
        (
            "main.0 run",
            gates.clone(),
            "True".to_owned(),
            "False ReadinessGatesNotReady: corresponding condition of pod readiness gate \"a\" does not exist., \
             corresponding condition of pod readiness gate \"b\" does not exist."
                .to_owned(),
        ),
        ("main.0 run unready", open("True", "True"), format!("False {unready}"), format!("False {unready}")),
    ] {
        let status = rendered(&with_main("Running", main), rest);
        assert_eq!(condition(&status, "ContainersReady"), format!("{containers} @100"), "{main}");
        assert_eq!(condition(&status, "Ready"), format!("{ready} @100"), "{main}");
    }
}

#[test]
fn a_container_without_a_status_is_unknown() {
    let two = json!({"spec": {"containers": [{"name": "main", "image": "x"}, {"name": "other", "image": "x"}]}});
    let status = rendered(&with_main("Running", "main.0 run unready"), two);
    assert_eq!(
        condition(&status, "Ready"),
        "False ContainersNotReady: containers with unknown status: [other], containers with unready status: [main] @100"
    );
    let mut nothing = snapshot("Pending");
    nothing.status.containers.clear();
    let status = rendered(&nothing, init_spec());
    assert_eq!(
        condition(&status, "ContainersReady"),
        "False UnknownContainerStatuses @100"
    );
    assert_eq!(
        condition(&status, "Initialized"),
        "False UnknownContainerStatuses @100"
    );
}

#[test]
fn a_sidecar_counts_for_readiness() {
    let mut pod_of = snapshot("Running");
    pod_of.status.init = vec![
        container("one.0 end=0 ready"),
        container("side.0 run unready"),
    ];
    let status = rendered(&pod_of, init_spec());
    assert_eq!(
        condition(&status, "Ready"),
        "False ContainersNotReady: containers with unready status: [side] @100"
    );
    assert_eq!(condition(&status, "Initialized"), "True @100");
}

#[test]
fn init_containers_and_sidecars_initialize_a_pod_for_good() {
    let lacking = |names: &str| {
        format!("False ContainersNotInitialized: containers with incomplete status: [{names}] @100")
    };
    for (one, side, main, expected) in [
        ("one wait", "side wait", "main wait", lacking("one side")),
        (
            "one.0 run unready",
            "side wait",
            "main wait",
            lacking("one side"),
        ),
        ("one.0 end=1", "side wait", "main wait", lacking("one side")),
        (
            "one.0 end=0 ready",
            "side wait",
            "main wait",
            lacking("side"),
        ),
        (
            "one.0 end=0 ready",
            "side.0 run unready",
            "main wait",
            "True @100".to_owned(),
        ),
        // A main container had its turn.
        (
            "one.0 end=0 ready",
            "side.0 end=1",
            "main.0 run",
            "True @100".to_owned(),
        ),
    ] {
        let mut pod_of = with_main("Pending", main);
        pod_of.status.init = vec![container(one), container(side)];
        let status = rendered(&pod_of, init_spec());
        assert_eq!(
            condition(&status, "Initialized"),
            expected,
            "{one}, {side}, {main}"
        );
    }
    let mut pod_of = with_main("Pending", "main wait");
    pod_of.status.init = vec![container("one.0 end=0 ready"), container("side.0 run")];
    let first = rendered(&pod_of, init_spec());
    // Its sandbox is made anew.
    pod_of.status.init = vec![container("one.1 run unready"), container("side wait")];
    assert_eq!(
        condition(&next(&pod_of, init_spec(), &first), "Initialized"),
        "True @100"
    );
}

#[test]
fn an_end_is_told_in_the_conditions() {
    let ended = rendered(&snapshot("Succeeded"), json!({}));
    for (name, expected) in [
        ("Ready", "False PodCompleted @100"),
        ("ContainersReady", "False PodCompleted @100"),
        ("Initialized", "True PodCompleted @100"),
        ("PodScheduled", "True @100"),
        (
            "PodReadyToStartContainers",
            "False PodSandboxNotReady: pod sandbox is not ready @100",
        ),
    ] {
        assert_eq!(condition(&ended, name), expected, "{name}");
    }
    let failed = rendered(&snapshot("Failed"), json!({}));
    assert_eq!(condition(&failed, "Ready"), "False PodFailed @100");
    let mut fresh = snapshot("Pending");
    fresh.status.ips.clear();
    let fresh = rendered(&fresh, json!({}));
    assert_eq!(
        condition(&fresh, "PodReadyToStartContainers"),
        "False PodSandboxNotReady: no pod sandbox exists @100"
    );
}

#[test]
fn a_time_moves_only_with_its_status() {
    let first = rendered(&with_main("Running", "main.0 run"), json!({}));
    let same = next(&with_main("Running", "main.1 run"), json!({}), &first);
    assert_eq!(condition(&same, "Ready"), "True @100");
    let other = next(
        &with_main("Running", "main.1 run unready"),
        json!({}),
        &first,
    );
    assert!(condition(&other, "Ready").ends_with("@200"));
    // Another reason for the same status.
    let ended = next(&with_main("Failed", "main.1 end=1"), json!({}), &other);
    let mut rest = json!({});
    rest["status"] = serde_json::to_value(&other).unwrap();
    assert_eq!(condition(&ended, "Ready"), "False PodFailed @200");
}

#[test]
fn a_time_is_that_of_the_change_also_when_it_cannot_be_written_for_long() {
    let taken = rendered(&with_main("Running", "main.0 run"), json!({}));
    let rest = json!({"status": serde_json::to_value(&taken).unwrap()});
    let unready = with_main("Running", "main.0 run unready");
    let during = render(&unready, &pod("a", rest.clone()), None, &node(), at(150));
    let later = render(&unready, &pod("a", rest), Some(&during), &node(), at(900));
    assert!(condition(&later, "Ready").ends_with("@150"));
}
