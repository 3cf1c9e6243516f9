mod conditions;
mod containers;
mod ends;

use agent_core::ContainerUser;
use agent_loops::PodSnapshot;
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use serde_json::{Value, json};

use super::{NodeFacts, render};
use crate::pods::testing::pod;
use crate::status::testing::{at, container, snapshot};

fn node() -> NodeFacts {
    NodeFacts {
        host_ips: vec!["192.168.0.1".parse().unwrap()],
        runtime: "containerd".to_owned(),
        ..NodeFacts::default()
    }
}

/// The status of a pod of the API with this in it, at second 100.
fn rendered(snapshot: &PodSnapshot, rest: Value) -> PodStatus {
    render(snapshot, &pod("a", rest), None, &node(), at(100))
}

/// The status that follows when the API has taken `status` and the agent shows `snapshot`.
fn next(snapshot: &PodSnapshot, mut rest: Value, status: &PodStatus) -> PodStatus {
    rest["status"] = serde_json::to_value(status).unwrap();
    render(snapshot, &pod("a", rest), None, &node(), at(200))
}

/// One condition in short: `False ContainersNotReady: message @100`.
fn condition(status: &PodStatus, name: &str) -> String {
    let mut all = status.conditions.iter().flatten();
    let Some(condition) = all.find(|each| each.type_ == name) else {
        return "absent".to_owned();
    };
    let mut text = condition.status.clone();
    if let Some(reason) = &condition.reason {
        text += &format!(" {reason}");
    }
    if let Some(message) = &condition.message {
        text += &format!(": {message}");
    }
    let time = condition
        .last_transition_time
        .as_ref()
        .unwrap()
        .0
        .as_second();
    format!("{text} @{time}")
}

fn with_main(phase: &str, main: &str) -> PodSnapshot {
    let mut snapshot = snapshot(phase);
    snapshot.status.containers = vec![container(main)];
    snapshot
}

#[test]
fn a_running_pod_is_shown_whole() {
    let spec = json!({"spec": {"containers": [{
        "name": "main", "image": "x:1",
        "resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": "1"}},
        "volumeMounts": [
            {"name": "data", "mountPath": "/data"},
            {"name": "conf", "mountPath": "/conf", "readOnly": true},
        ],
    }]}});
    let mut running = snapshot("Running");
    running.status.containers[0].user = Some(ContainerUser {
        uid: 1000,
        gid: 3000,
        supplemental_groups: vec![4000],
    });
    let status = serde_json::to_value(rendered(&running, spec)).unwrap();
    let condition = |name: &str| json!({"type": name, "status": "True", "lastTransitionTime": "1970-01-01T00:01:40Z", "observedGeneration": 1});
    let resources = json!({"requests": {"cpu": "100m"}, "limits": {"cpu": "1"}});
    let names = [
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
    ];
    assert_eq!(
        status,
        json!({
            "observedGeneration": 1,
            "phase": "Running",
            "conditions": names.map(condition),
            "hostIP": "192.168.0.1", "hostIPs": [{"ip": "192.168.0.1"}],
            "podIP": "10.0.0.5", "podIPs": [{"ip": "10.0.0.5"}],
            "startTime": "1970-01-01T00:00:05Z",
            "qosClass": "Burstable",
            "resources": resources,
            "allocatedResources": {"cpu": "100m"},
            "containerStatuses": [{
                "name": "main", "image": "x:1", "imageID": "x@sha256:1", "containerID": "containerd://main0",
                "state": {"running": {"startedAt": "1970-01-01T00:00:10Z"}}, "lastState": {},
                "ready": true, "started": true, "restartCount": 0,
                "resources": resources, "allocatedResources": {"cpu": "100m"},
                "user": {"linux": {"uid": 1000, "gid": 3000, "supplementalGroups": [4000]}},
                "volumeMounts": [
                    {"name": "data", "mountPath": "/data"},
                    {"name": "conf", "mountPath": "/conf", "readOnly": true, "recursiveReadOnly": "Disabled"},
                ],
            }],
        })
    );
}

#[test]
fn what_others_wrote_stays() {
    let theirs = json!({
        "conditions": [
            {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"},
            {"type": "example.com/gate", "status": "False"},
        ],
        "resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "claim"}],
        "extendedResourceClaimStatus": {"requestMappings": [], "resourceClaimName": "claim"},
        "nominatedNodeName": "other", "resize": "Deferred", "qosClass": "Guaranteed",
        "startTime": "1970-01-01T00:00:01Z",
    });
    let status =
        serde_json::to_value(rendered(&snapshot("Running"), json!({"status": theirs}))).unwrap();
    for field in [
        "resourceClaimStatuses",
        "extendedResourceClaimStatus",
        "nominatedNodeName",
        "resize",
        "qosClass",
        "startTime",
    ] {
        assert_eq!(status[field], theirs[field], "{field}");
    }
    assert_eq!(status["conditions"][0], theirs["conditions"][0]);
    assert_eq!(status["conditions"][1], theirs["conditions"][1]);
}

#[test]
fn a_status_that_was_taken_is_rendered_the_same() {
    for phase in ["Pending", "Running", "Succeeded", "Failed"] {
        let snapshot = snapshot(phase);
        let first = rendered(&snapshot, json!({}));
        assert_eq!(next(&snapshot, json!({}), &first), first, "{phase}");
    }
}

#[test]
fn addresses_come_primary_family_first_and_stay_after_the_end() {
    let mut pod_of = snapshot("Running");
    let shown = |status: &PodStatus| -> Vec<String> {
        let ips = status.pod_ips.iter().flatten().map(|each| each.ip.clone());
        let ips: Vec<String> = ips.collect();
        assert_eq!(status.pod_ip, ips.first().cloned());
        ips
    };
    pod_of.status.ips = ["fd00::5", "10.0.0.5", "10.0.0.6"]
        .map(str::to_owned)
        .to_vec();
    let both = rendered(&pod_of, json!({}));
    assert_eq!(shown(&both), ["10.0.0.5", "fd00::5"]);
    let six = NodeFacts {
        host_ips: vec!["fd00::1".parse().unwrap()],
        ..node()
    };
    let six = render(&pod_of, &pod("a", json!({})), None, &six, at(100));
    assert_eq!(shown(&six), ["fd00::5", "10.0.0.5"]);
    // The sandbox is gone.
    pod_of.status.ips.clear();
    assert_eq!(shown(&next(&pod_of, json!({}), &both)), [""; 0]);
    pod_of.life = agent_core::Life::Finished;
    assert_eq!(
        shown(&next(&pod_of, json!({}), &both)),
        ["10.0.0.5", "fd00::5"]
    );
}

#[test]
fn a_pod_on_the_host_network_has_the_addresses_of_the_host() {
    let on_host = json!({"spec": {"hostNetwork": true}});
    let mut facts = node();
    let mut pod_of = snapshot("Running");
    pod_of.status.ips = vec!["192.168.0.77".to_owned()];
    let of = |facts: &NodeFacts, status: Option<&PodStatus>| {
        let mut rest = on_host.clone();
        if let Some(status) = status {
            rest["status"] = serde_json::to_value(status).unwrap();
        }
        render(&pod_of, &pod("a", rest), None, facts, at(100))
    };
    let first = of(&facts, None);
    assert_eq!(first.pod_ip.as_deref(), Some("192.168.0.1"));
    // They stay when the node's change, and one of the other family is added.
    facts.host_ips = vec!["192.168.0.2".parse().unwrap(), "fd00::2".parse().unwrap()];
    let second = of(&facts, Some(&first));
    let ips: Vec<&str> = second
        .pod_ips
        .iter()
        .flatten()
        .map(|each| each.ip.as_str())
        .collect();
    assert_eq!(ips, ["192.168.0.1", "fd00::2"]);
    assert_eq!(second.host_ips.as_ref().unwrap().len(), 2);
    // A node that does not know its addresses takes none back.
    facts.host_ips.clear();
    assert_eq!(
        of(&facts, Some(&second)).host_ip.as_deref(),
        Some("192.168.0.2")
    );
}

#[test]
fn resources_of_the_pod_are_those_of_its_greatest_moment() {
    let with = |cpu: &str| json!({"requests": {"cpu": cpu, "memory": "1Gi"}});
    let spec = json!({"spec": {
        "overhead": {"cpu": "10m"},
        "initContainers": [
            {"name": "i", "image": "x", "resources": with("2")},
            {"name": "s", "image": "x", "restartPolicy": "Always", "resources": with("500m")},
            {"name": "j", "image": "x", "resources": with("3")},
        ],
        "containers": [{"name": "main", "image": "x", "resources": with("1")}],
    }});
    let status = rendered(&snapshot("Running"), spec.clone());
    let shown = |status: &PodStatus| serde_json::to_value(&status.allocated_resources).unwrap();
    assert_eq!(shown(&status), json!({"cpu": "3510m", "memory": "2Gi"}));
    let mut own = spec;
    own["spec"]["resources"] = json!({"requests": {"cpu": "7"}});
    assert_eq!(
        shown(&rendered(&snapshot("Running"), own)),
        json!({"cpu": "7010m", "memory": "2Gi"})
    );
}

#[test]
fn the_quality_of_service_is_that_of_all_containers() {
    let full =
        json!({"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}});
    for (main, pod_level, class) in [
        (json!({}), json!(null), "BestEffort"),
        (full.clone(), json!(null), "Guaranteed"),
        (
            json!({"limits": {"memory": "1Gi"}}),
            json!(null),
            "Burstable",
        ),
        (json!({}), full, "Guaranteed"),
    ] {
        let mut spec =
            json!({"spec": {"containers": [{"name": "main", "image": "x", "resources": main}]}});
        if !pod_level.is_null() {
            spec["spec"]["resources"] = pod_level;
        }
        assert_eq!(
            rendered(&snapshot("Running"), spec).qos_class.as_deref(),
            Some(class)
        );
    }
}

#[test]
fn generations_are_those_of_the_manifest_that_is_acted_on() {
    let newer = json!({"metadata": {"generation": 7}, "status": {"observedGeneration": 1}});
    let status = rendered(&snapshot("Running"), newer);
    assert_eq!(
        status.observed_generation,
        Some(1),
        "the agent still acts on the old one"
    );
    let ahead = rendered(
        &snapshot("Running"),
        json!({"status": {"observedGeneration": 5}}),
    );
    assert_eq!(ahead.observed_generation, Some(5), "never taken back");
    let mut of_file = snapshot("Running");
    of_file.manifest = Some(std::sync::Arc::new(crate::pods::testing::static_pod(
        "a", "h",
    )));
    let of_file: Pod = Pod {
        status: Some(rendered(&of_file, json!({}))),
        ..Pod::default()
    };
    assert_eq!(of_file.status.unwrap().observed_generation, None);
}
