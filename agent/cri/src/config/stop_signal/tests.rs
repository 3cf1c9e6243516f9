#![allow(clippy::unwrap_used)]

use proto::cri::Signal;
use serde_json::json;

use super::super::testing::Scene;
use super::stop_signal;

#[test]
fn names() {
    for (name, expected) in [
        (None, Some(Signal::RuntimeDefault)),
        (Some("SIGTERM"), Some(Signal::Sigterm)),
        (Some("SIGRTMIN+1"), Some(Signal::Sigrtminplus1)),
        (Some("SIGRTMAX-14"), Some(Signal::Sigrtmaxminus14)),
        (Some("TERM"), None),
        (Some("RUNTIME_DEFAULT"), None),
        (Some("sigterm"), None),
    ] {
        let scene = Scene::of_container(json!({"lifecycle": {"stopSignal": name}}));
        let container = scene.input().container("main").unwrap();
        assert_eq!(stop_signal(&container).ok(), expected, "{name:?}");
    }
}
