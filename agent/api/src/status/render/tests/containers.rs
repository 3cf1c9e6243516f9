use std::sync::Arc;

use agent_core::{ContainerName, ContainerState, ContainerUser, DeviceId, ResourceName};
use agent_loops::ports::DeviceGrant;
use k8s_openapi::api::core::v1::{ContainerStatus, PodStatus};
use serde_json::{Value, json};

use super::{at, next, node, pod, rendered, snapshot, with_main};
use crate::status::render::render;
use crate::status::testing::container;

fn main_of(status: &PodStatus) -> ContainerStatus {
    let mut all = status.container_statuses.iter().flatten();
    all.find(|each| each.name == "main").unwrap().clone()
}

/// A container in short: `running x2 last=137 ContainerStatusUnknown`.
fn short(status: &ContainerStatus) -> String {
    let state = status.state.as_ref().unwrap();
    let mut text = match (&state.waiting, &state.running, &state.terminated) {
        (Some(waiting), None, None) => {
            format!("waiting {}", waiting.reason.as_deref().unwrap_or_default())
        }
        (None, Some(_), None) => "running".to_owned(),
        (None, None, Some(end)) => format!("ended={}", end.exit_code),
        other => panic!("{other:?}"),
    };
    text += &format!(" x{}", status.restart_count);
    if let Some(last) = &status.last_state.as_ref().unwrap().terminated {
        text += &format!(
            " last={} {}",
            last.exit_code,
            last.reason.as_deref().unwrap_or_default()
        );
    }
    text
}

/// What the API has, what the agent shows, about which pod, and what follows.
const COURSE: [&str; 16] = [
    // The plain course of things.
    "main wait | main.0 run | | running x0",
    "main.0 run | main.0 end=1 | | ended=1 x0",
    "main.0 end=1 | main.0 wait=CrashLoopBackOff last=1 | | waiting CrashLoopBackOff x0 last=1 Error",
    "main.0 end=1 | main.1 run last=1 | | running x1 last=1 Error",
    // It vanished from the runtime.
    "main.3 run | main wait | | waiting ContainerCreating x4 last=137 ContainerStatusUnknown",
    "main.3 run | main wait | deleted | waiting ContainerCreating x3 last=137 ContainerStatusUnknown",
    "main.3 run last=1 | main wait | | waiting ContainerCreating x3 last=1 Error",
    "main.3 end=2 | main wait | | ended=2 x3",
    "main.3 end=2 | main wait=ErrImagePull | | waiting ErrImagePull x3 last=2 Error",
    "main.3 wait=CrashLoopBackOff last=2 | main wait | | waiting ContainerCreating x3 last=2 Error",
    // It came back, and the runtime counts from the beginning.
    "main.3 end=2 | main.0 run | | running x4 last=2 Error",
    "main.3 wait=CrashLoopBackOff last=2 | main.0 run | | running x3 last=2 Error",
    // What may not run again does not.
    "main.0 end=1 | main.1 run | Never | ended=1 x0",
    "main.0 end=0 | main.1 run | OnFailure | ended=0 x0",
    "main.0 end=1 | main.1 run | OnFailure | running x1 last=1 Error",
    "main.0 end=1 | main wait | Never | ended=1 x0",
];

#[test]
fn a_container_never_loses_its_past() {
    for row in COURSE {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [before, now, about, expected] = cells.as_slice() else {
            panic!("{row}")
        };
        let rest = || match *about {
            "" => json!({}),
            "deleted" => json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
            policy => json!({"spec": {"restartPolicy": policy}}),
        };
        let first = rendered(&with_main("Running", before), rest());
        let second = next(&with_main("Running", now), rest(), &first);
        assert_eq!(short(&main_of(&second)), *expected, "{row}");
        let third = next(&with_main("Running", now), rest(), &second);
        assert_eq!(short(&main_of(&third)), *expected, "again: {row}");
    }
}

#[test]
fn a_rule_of_the_container_outranks_the_policy_of_the_pod() {
    let spec = |policy: &str, rules: Value| {
        let main = json!({"name": "main", "image": "x", "restartPolicy": policy, "restartPolicyRules": rules});
        json!({"spec": {"restartPolicy": "Never", "containers": [main]}})
    };
    let on = |operator: &str| json!([{"action": "Restart", "exitCodes": {"operator": operator, "values": [42]}}]);
    for (code, rest, restarts) in [
        (42, spec("Never", on("In")), true),
        (1, spec("Never", on("In")), false),
        (1, spec("Never", on("NotIn")), true),
        (0, spec("Always", json!([])), true),
        (0, spec("OnFailure", json!([])), false),
    ] {
        let first = rendered(
            &with_main("Running", &format!("main.0 end={code}")),
            rest.clone(),
        );
        let second = next(&with_main("Running", "main.1 run"), rest.clone(), &first);
        assert_eq!(
            short(&main_of(&second)).starts_with("running"),
            restarts,
            "{code} {rest}"
        );
    }
}

#[test]
fn a_container_that_was_never_made_has_no_resources_yet() {
    let spec = json!({"spec": {"containers": [{"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}]}});
    let waiting = main_of(&rendered(&with_main("Pending", "main wait"), spec.clone()));
    assert_eq!(
        (
            waiting.resources,
            waiting.allocated_resources,
            waiting.container_id
        ),
        (None, None, None)
    );
    let running = main_of(&rendered(&with_main("Running", "main.0 run"), spec));
    assert!(running.allocated_resources.is_some());
    // A container that asks for nothing has an empty answer, as in the stock kubelet.
    let plain = main_of(&rendered(&with_main("Running", "main.0 run"), json!({})));
    assert_eq!(serde_json::to_value(plain.resources).unwrap(), json!({}));
}

#[test]
fn a_user_is_told_and_kept() {
    let mut own = container("main.0 run");
    own.user = Some(ContainerUser {
        uid: 1001,
        gid: 0,
        supplemental_groups: vec![0, 50],
    });
    let told = json!({ "linux": { "uid": 1001, "gid": 0, "supplementalGroups": [0, 50] } });
    let mut snapshot = with_main("Running", "main.0 run");
    snapshot.status.containers = vec![own];
    let new = rendered(&snapshot, json!({}));
    assert_eq!(serde_json::to_value(main_of(&new).user).unwrap(), told);
    // A new look at the same container may not know it yet.
    let later = main_of(&next(&with_main("Running", "main.0 run"), json!({}), &new));
    assert_eq!(serde_json::to_value(later.user).unwrap(), told);
}

#[test]
fn recursive_read_only_is_told_as_it_is() {
    let mounts = json!([
        {"name": "v", "mountPath": "/a", "readOnly": true, "recursiveReadOnly": "IfPossible"},
        {"name": "v", "mountPath": "/b", "readOnly": true, "recursiveReadOnly": "Enabled", "mountPropagation": "HostToContainer"},
        {"name": "v", "mountPath": "/c", "readOnly": true},
        {"name": "v", "mountPath": "/d"},
    ]);
    let rest =
        json!({"spec": {"containers": [{"name": "main", "image": "x", "volumeMounts": mounts}]}});
    let modes = |possible: bool| -> Vec<Option<String>> {
        let mut facts = node();
        facts.recursive_read_only = possible;
        let status = render(
            &snapshot("Running"),
            &pod("a", rest.clone()),
            None,
            &facts,
            at(1),
        );
        let mounts = main_of(&status).volume_mounts.unwrap();
        mounts
            .into_iter()
            .map(|mount| mount.recursive_read_only)
            .collect()
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        modes(true),
        [some("Enabled"), some("Disabled"), some("Disabled"), None]
    );
    assert_eq!(modes(false)[0], some("Disabled"));
}

#[test]
fn devices_are_told_with_their_health() {
    let mut pod_of = snapshot("Running");
    pod_of.grants = Arc::new(vec![DeviceGrant {
        container: ContainerName::new("main"),
        resource: ResourceName::new("nvidia.com/gpu"),
        devices: vec![DeviceId::new("GPU-1"), DeviceId::new("GPU-2")],
        cdi: Vec::new(),
        plain: agent_loops::ports::PlainEdits::default(),
    }]);
    let mut facts = node();
    facts.unhealthy_devices.insert(DeviceId::new("GPU-2"));
    let status = render(&pod_of, &pod("a", json!({})), None, &facts, at(1));
    assert_eq!(
        serde_json::to_value(main_of(&status).allocated_resources_status).unwrap(),
        json!([{"name": "nvidia.com/gpu", "resources": [
            {"resourceID": "GPU-1", "health": "Healthy"}, {"resourceID": "GPU-2", "health": "Unhealthy"},
        ]}])
    );
}

#[test]
fn lists_are_in_the_stock_order() {
    let mut pod_of = snapshot("Running");
    pod_of.status.containers = vec![container("z.0 run"), container("a.0 run")];
    pod_of.status.init = vec![container("y.0 end=0"), container("b.0 end=0")];
    pod_of.status.ephemeral = vec![container("x.0 run"), container("debug.0 run")];
    let status = rendered(&pod_of, json!({}));
    let names = |list: &Option<Vec<ContainerStatus>>| -> Vec<String> {
        list.iter()
            .flatten()
            .map(|each| each.name.clone())
            .collect()
    };
    assert_eq!(names(&status.container_statuses), ["a", "z"]);
    assert_eq!(names(&status.init_container_statuses), ["y", "b"]);
    assert_eq!(names(&status.ephemeral_container_statuses), ["debug", "x"]);
    let debug = &status.ephemeral_container_statuses.unwrap()[0];
    assert_eq!((debug.ready, debug.started), (false, None));
}

#[test]
fn long_messages_are_shared_out() {
    let mut pod_of = snapshot("Failed");
    let ContainerState::Terminated(end) = &mut pod_of.status.containers[0].state else {
        panic!()
    };
    end.message = "ä".repeat(10_000);
    pod_of.status.ephemeral = vec![container("x.0 run")];
    let end = main_of(&rendered(&pod_of, json!({})))
        .state
        .unwrap()
        .terminated
        .unwrap();
    assert_eq!(end.message.unwrap().len(), 6 * 1024);
}
