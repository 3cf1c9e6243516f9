//! By which names a pod is found.

use super::*;
use crate::fixtures;

fn found(pods: &[Pod], name: &str) -> Result<String, String> {
    find(pods, name)
        .map(Pod::full_name)
        .map_err(|error| error.to_string())
}

fn pods() -> Vec<Pod> {
    fixtures::pods().pods.into_iter().map(Pod::from).collect()
}

#[test]
fn the_namespace_may_be_left_out_where_only_one_has_the_name() {
    let mut pods = pods();
    assert_eq!(
        found(&pods, "train-gpu-a1").unwrap(),
        "default/train-gpu-a1"
    );
    assert_eq!(
        found(&pods, "default/train-gpu-a1").unwrap(),
        "default/train-gpu-a1"
    );
    let twin = Pod {
        namespace: "other".to_owned(),
        ..pods[0].clone()
    };
    pods.push(twin);
    let text = found(&pods, "train-gpu-a1").unwrap_err();
    assert!(
        text.ends_with("default/train-gpu-a1, other/train-gpu-a1"),
        "{text}"
    );
    assert_eq!(
        found(&pods, "other/train-gpu-a1").unwrap(),
        "other/train-gpu-a1"
    );
}

#[test]
fn the_name_in_the_manifest_gives_a_hint() {
    let text = found(&pods(), "default/train").unwrap_err();
    assert_eq!(
        text,
        "no pod default/train on this node; is it default/train-gpu-a1?"
    );
    let text = found(&pods(), "nothing").unwrap_err();
    assert_eq!(text, "no pod nothing on this node; gpuctl pods lists all");
}
