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

/// What it is; hash of the file, `-` when there is none and `?` when nobody has looked; the board;
/// hash of the mirror, `!` behind it when it is being deleted; what follows.
const COURSE: [&str; 11] = [
    "new | h1 | | - | create h1",
    "there | h1 | h1 runs | h1 |",
    "deleted by somebody | h1 | h1 runs | h1! | delete uid-web",
    "file removed, still ends | - | h1 runs | h1 |",
    "file removed, ended | - | | h1 | delete uid-web",
    "file removed, shown as done | - | h1 done | h1 | delete uid-web",
    "changed, the old one ends | h2 | h1 runs, h2 waits | h1 |",
    "changed, its mirror was lost meanwhile | h2 | h1 runs, h2 waits | - |",
    "changed, the old one is gone | h2 | | h1 | delete uid-web",
    "changed, its mirror is gone | h2 | | - | create h2",
    "not reported yet | ? | | h1 |",
];

#[test]
fn mirrors_follow_static_pods() {
    for row in COURSE {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, file, on, mirror, expected] = cells.as_slice() else {
            panic!("{row}")
        };
        let statics = match *file {
            "?" => None,
            "-" => source(&[]),
            hash => source(&[static_pod("web", hash)]),
        };
        let pods = on.split(", ").filter_map(|pod| pod.split_once(' '));
        let pods = pods.map(|(hash, life)| {
            let life = match life {
                "runs" => Life::Running,
                "waits" => Life::Waiting,
                _ => Life::Done,
            };
            on_board(&static_pod("web", hash), life)
        });
        let deleted = mirror.ends_with('!');
        let hash = Some(mirror.trim_end_matches('!')).filter(|hash| *hash != "-");
        let steps = steps(
            &[statics],
            &board(pods.collect()),
            &mirrors(hash, deleted),
            Some(OWNER),
        );
        assert_eq!(shown(&steps), *expected, "{row}");
    }
}

#[test]
fn nothing_is_done_before_the_list_and_nothing_is_made_before_the_node_is_there() {
    let one = source(&[static_pod("web", "h1")]);
    let none = PodBoard::new();
    let before = steps(
        std::slice::from_ref(&one),
        &none,
        &ApiPods::default(),
        Some(OWNER),
    );
    assert_eq!(before, []);
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
