use std::sync::Arc;

use agent_core::{Life, Phase, StopWhy};
use agent_loops::PodSnapshot;
use k8s_openapi::api::core::v1::PodStatus;
use serde_json::{Value, json};

use super::{at, condition, next, rendered, snapshot, with_main};
use crate::pods::testing::static_pod;
use crate::status::testing::container;

fn stopping() -> Life {
    Life::Stopping {
        why: StopWhy::DeadlineExceeded,
        deadline: at(500),
    }
}

fn in_life(mut snapshot: PodSnapshot, life: Life) -> PodSnapshot {
    snapshot.life = life;
    snapshot
}

fn phase(status: &PodStatus) -> &str {
    status.phase.as_deref().unwrap()
}

#[test]
fn an_end_is_held_back_until_nothing_runs() {
    let running = rendered(&snapshot("Running"), json!({}));
    let mut ended = with_main("Failed", "main.0 run");
    ended.status.reason = "DeadlineExceeded".to_owned();
    for (life, expected, reason) in [
        (stopping(), "Running", None),
        (Life::Running, "Running", None),
        (Life::Cleaning, "Failed", Some("DeadlineExceeded")),
        (Life::Finished, "Failed", Some("DeadlineExceeded")),
        (Life::Done, "Failed", Some("DeadlineExceeded")),
    ] {
        let status = next(&in_life(ended.clone(), life.clone()), json!({}), &running);
        assert_eq!(phase(&status), expected, "{life:?}");
        assert_eq!(status.reason.as_deref(), reason, "{life:?}");
        assert_eq!(
            condition(&status, "Ready"),
            "False PodFailed @200",
            "{life:?}"
        );
    }
    let first = rendered(&in_life(ended, stopping()), json!({}));
    assert_eq!(phase(&first), "Pending", "nothing was told before");
}

#[test]
fn an_end_is_never_taken_back() {
    for end in ["Succeeded", "Failed"] {
        for now in ["Pending", "Running", "Succeeded", "Failed"] {
            let rest =
                json!({"status": {"phase": end, "reason": "Evicted", "message": "too much"}});
            let mut pod_of = snapshot(now);
            pod_of.status.reason = "Other".to_owned();
            let status = rendered(&pod_of, rest);
            assert_eq!(phase(&status), end, "{now}");
            assert_eq!(status.reason.as_deref(), Some("Evicted"), "{now}");
            assert_eq!(status.message.as_deref(), Some("too much"), "{now}");
            assert!(condition(&status, "Ready").starts_with("False"), "{now}");
        }
    }
}

#[test]
fn a_pod_that_ended_before_keeps_what_the_api_has() {
    let taken = rendered(&with_main("Failed", "main.2 end=3"), json!({}));
    // The agent has started anew, and the runtime has forgotten the pod.
    let mut now = with_main("Failed", "main wait");
    now.status.ips.clear();
    now.status.sandbox_ready = false;
    let after = next(&now, json!({}), &taken);
    assert_eq!(after.container_statuses, taken.container_statuses);
    assert_eq!(after.pod_ip, taken.pod_ip);
    // Whatever it may show: it is over.
    let after = next(&with_main("Running", "main.3 run"), json!({}), &taken);
    assert_eq!(after.container_statuses, taken.container_statuses);
}

fn states(status: &PodStatus) -> Vec<String> {
    let init = status.init_container_statuses.iter().flatten();
    let all = init.chain(status.container_statuses.iter().flatten());
    all.map(|each| {
        let state = each.state.as_ref().unwrap();
        match &state.terminated {
            Some(end) => format!("{}={}", each.name, end.exit_code),
            None => each.name.clone(),
        }
    })
    .collect()
}

fn with_init(init: &[&str], main: &str) -> PodSnapshot {
    let mut pod_of = in_life(with_main("Pending", main), Life::Done);
    pod_of.status.init = init.iter().map(|text| container(text)).collect();
    pod_of
}

fn init_spec() -> Value {
    json!({"spec": {"initContainers": [{"name": "i", "image": "x"}, {"name": "j", "image": "x"}]}})
}

#[test]
fn nobody_leaves_without_an_end() {
    for (init, main, rest, expected) in [
        // Deleted before it ever ran.
        (&[][..], "main wait", json!({}), &["main=137"][..]),
        (
            &["i wait", "j wait"],
            "main wait",
            init_spec(),
            &["i=137", "j", "main"],
        ),
        (
            &["i.0 end=0", "j.0 run"],
            "main wait",
            init_spec(),
            &["i=0", "j=137", "main"],
        ),
        (
            &["i.0 end=0", "j.0 end=0"],
            "main wait",
            init_spec(),
            &["i=0", "j=0", "main=137"],
        ),
        (
            &["i.0 end=0", "j.0 end=0"],
            "main.0 end=0",
            init_spec(),
            &["i=0", "j=0", "main=0"],
        ),
    ] {
        let status = rendered(&with_init(init, main), rest);
        assert_eq!(states(&status), expected, "{init:?} {main}");
        assert_eq!(phase(&status), "Failed");
    }
    let end = rendered(&with_init(&[], "main wait"), json!({}));
    let main = &end.container_statuses.unwrap()[0];
    let end = main.state.as_ref().unwrap().terminated.as_ref().unwrap();
    assert_eq!(end.reason.as_deref(), Some("ContainerStatusUnknown"));
    assert_eq!(
        end.message.as_deref(),
        Some("The container could not be located when the pod was terminated")
    );
}

#[test]
fn a_static_pod_has_no_end_of_its_own() {
    let mut pod_of = in_life(with_main("Running", "main.0 run"), Life::Done);
    pod_of.manifest = Some(Arc::new(static_pod("a", "h")));
    let status = rendered(&pod_of, json!({}));
    assert_eq!(phase(&status), "Running");
    assert_eq!(states(&status), ["main=137"]);
}

#[test]
fn a_refused_pod_never_had_containers() {
    let mut refused = in_life(with_main("Pending", "main wait"), Life::Finished);
    refused.status.phase = Phase::Failed;
    refused.status.reason = "DevicesInsufficient".to_owned();
    refused.status.message = "Pod was rejected: the node has 8 GPUs, 9 are asked for".to_owned();
    let first = rendered(&refused, json!({}));
    assert_eq!(
        (phase(&first), first.reason.as_deref()),
        ("Failed", Some("DevicesInsufficient"))
    );
    assert_eq!(first.container_statuses, None);
    // Also when only the API remembers.
    refused.status.message.clear();
    assert_eq!(next(&refused, json!({}), &first), first);
}

#[test]
fn a_reason_for_waiting_goes_with_its_cause() {
    let mut waiting = snapshot("Pending");
    waiting.status.reason = "DevicesBusy".to_owned();
    let first = rendered(&waiting, json!({}));
    assert_eq!(first.reason.as_deref(), Some("DevicesBusy"));
    let second = next(&snapshot("Pending"), json!({}), &first);
    assert_eq!(second.reason, None);
}
