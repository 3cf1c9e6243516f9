use std::sync::Arc;

use agent_core::{Life, PodName};
use agent_loops::ports::{SourceSnapshot, WantedPod};
use agent_loops::{PodBoard, PodSnapshot};
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use super::{Owner, Step, steps};
use crate::pods::ApiPods;
use crate::pods::testing::{pod, static_pod};
use crate::status::testing::snapshot;

const OWNER: Owner<'static> = Owner {
    name: "node",
    uid: "node-uid",
};

fn source(pods: &[Pod]) -> Option<SourceSnapshot> {
    let wanted = |pod: &Pod| WantedPod {
        want: Arc::new(crate::manifest::from_api(pod).unwrap()),
        manifest: Arc::new(pod.clone()),
    };
    Some(SourceSnapshot {
        pods: pods.iter().map(wanted).collect(),
        problems: Vec::new(),
    })
}

fn on_board(pod: &Pod, life: Life) -> PodSnapshot {
    PodSnapshot {
        life,
        manifest: Some(Arc::new(pod.clone())),
        ..snapshot("Running")
    }
}

fn board(pods: Vec<PodSnapshot>) -> PodBoard {
    let entries = pods.into_iter().enumerate().map(|(at, mut pod)| {
        pod.uid = agent_core::PodUid::new(at.to_string());
        pod.name = PodName::new("default", "web");
        (pod.uid.clone(), Arc::new(pod))
    });
    entries.collect()
}

fn mirrors(hash: Option<&str>, deleted: bool) -> ApiPods {
    let mut objects = ApiPods {
        listed: true,
        ..ApiPods::default()
    };
    if let Some(hash) = hash {
        let mut mirror = pod(
            "web",
            json!({"metadata": {"annotations": {"kubernetes.io/config.mirror": hash}}}),
        );
        if deleted {
            mirror.metadata.deletion_timestamp = mirror.metadata.creation_timestamp.clone();
        }
        objects
            .mirrors
            .insert(PodName::new("default", "web"), Arc::new(mirror));
    }
    objects
}

fn shown(steps: &[Step]) -> String {
    let texts = steps.iter().map(|step| match step {
        Step::Create { pod, .. } => {
            let annotations = pod.metadata.annotations.as_ref().unwrap();
            format!("create {}", annotations["kubernetes.io/config.mirror"])
        }
        Step::Delete { uid, .. } => format!("delete {uid}"),
    });
    texts.collect::<Vec<_>>().join(", ")
}

#[test]
fn mirrors_follow_static_pods() {
    let (one, two) = (static_pod("web", "h1"), static_pod("web", "h2"));
    let empty = || source(&[]);
    let none = PodBoard::new();
    let running = board(vec![on_board(&one, Life::Running)]);
    let replaced = board(vec![
        on_board(&one, Life::Cleaning),
        on_board(&two, Life::Waiting),
    ]);
    let done = board(vec![on_board(&one, Life::Done)]);
    for (why, statics, board, objects, expected) in [
        (
            "new",
            source(&[one.clone()]),
            &none,
            mirrors(None, false),
            "create h1",
        ),
        (
            "there",
            source(&[one.clone()]),
            &running,
            mirrors(Some("h1"), false),
            "",
        ),
        (
            "deleted by somebody",
            source(&[one.clone()]),
            &running,
            mirrors(Some("h1"), true),
            "delete uid-web",
        ),
        (
            "file removed, still ends",
            empty(),
            &running,
            mirrors(Some("h1"), false),
            "",
        ),
        (
            "file removed, ended",
            empty(),
            &none,
            mirrors(Some("h1"), false),
            "delete uid-web",
        ),
        (
            "file removed, shown as done",
            empty(),
            &done,
            mirrors(Some("h1"), false),
            "delete uid-web",
        ),
        (
            "changed, the old one ends",
            source(&[two.clone()]),
            &replaced,
            mirrors(Some("h1"), false),
            "",
        ),
        (
            "changed, mirror lost meanwhile",
            source(&[two.clone()]),
            &replaced,
            mirrors(None, false),
            "",
        ),
        (
            "changed, the old one is gone",
            source(&[two.clone()]),
            &none,
            mirrors(Some("h1"), false),
            "delete uid-web",
        ),
        (
            "changed, its mirror is gone",
            source(&[two]),
            &none,
            mirrors(None, false),
            "create h2",
        ),
        (
            "not reported yet",
            None,
            &none,
            mirrors(Some("h1"), false),
            "",
        ),
    ] {
        let steps = steps(&[statics], board, &objects, Some(OWNER));
        assert_eq!(shown(&steps), expected, "{why}");
    }
}

#[test]
fn nothing_is_done_before_the_list_and_nothing_is_made_before_the_node_is_there() {
    let one = source(&[static_pod("web", "h1")]);
    let none = PodBoard::new();
    assert_eq!(
        steps(&[one.clone()], &none, &ApiPods::default(), Some(OWNER)),
        []
    );
    assert_eq!(steps(&[one], &none, &mirrors(None, false), None), []);
    // Orphans go without it.
    let orphan = steps(&[source(&[])], &none, &mirrors(Some("h"), false), None);
    assert_eq!(shown(&orphan), "delete uid-web");
}

#[test]
fn a_mirror_is_its_static_pod_owned_by_the_node() {
    let one = source(&[static_pod("web", "h1")]);
    let steps = steps(&[one], &PodBoard::new(), &mirrors(None, false), Some(OWNER));
    let [Step::Create { pod, .. }] = steps.as_slice() else {
        panic!("{steps:?}")
    };
    let owners = pod.metadata.owner_references.as_ref().unwrap();
    assert_eq!(
        serde_json::to_value(owners).unwrap(),
        json!([{"apiVersion": "v1", "kind": "Node", "name": "node", "uid": "node-uid", "controller": true}]),
    );
    assert_eq!(pod.metadata.uid, None);
    let annotations = pod.metadata.annotations.as_ref().unwrap();
    assert_eq!(annotations["kubernetes.io/config.source"], "file");
}
