#![allow(clippy::unwrap_used)]

use proto::cri::SecurityProfile;
use proto::cri::security_profile::ProfileType::{self, Localhost, RuntimeDefault, Unconfined};
use serde_json::{Value, json};

use super::super::testing::Scene;
use super::{apparmor, seccomp};

fn scene(of_pod: Value, of_container: Value) -> Scene {
    Scene::new(json!({
        "securityContext": of_pod,
        "containers": [{"name": "main", "securityContext": of_container}],
    }))
}

fn is(profile: &SecurityProfile, kind: ProfileType, reference: &str) -> bool {
    profile.profile_type() == kind && profile.localhost_ref == reference
}

#[test]
fn seccomp_of_container_then_pod_then_node() {
    let kind = |kind: &str| json!({"seccompProfile": {"type": kind}});
    let local = json!({"seccompProfile": {"type": "Localhost", "localhostProfile": "a/b.json"}});
    for (of_pod, of_container, default, expected) in [
        (json!({}), json!({}), false, (Unconfined, "")),
        (json!({}), json!({}), true, (RuntimeDefault, "")),
        (kind("Unconfined"), json!({}), true, (Unconfined, "")),
        (
            kind("Unconfined"),
            kind("RuntimeDefault"),
            false,
            (RuntimeDefault, ""),
        ),
        (
            json!({}),
            local,
            false,
            (Localhost, "/var/lib/kubelet/seccomp/a/b.json"),
        ),
    ] {
        let mut scene = scene(of_pod, of_container);
        scene.node.seccomp_default = default;
        let input = scene.input();
        let profile = seccomp(&input, &input.container("main").unwrap()).unwrap();
        assert!(
            is(&profile, expected.0, expected.1),
            "{profile:?} {expected:?}"
        );
    }
}

#[test]
fn refused_seccomp_profiles() {
    for (profile, text) in [
        (
            json!({"type": "Localhost"}),
            "seccompProfile of type Localhost needs",
        ),
        (
            json!({"type": "Localhost", "localhostProfile": "../x"}),
            "below the node's seccomp folder",
        ),
        (
            json!({"type": "Localhost", "localhostProfile": "/x"}),
            "below the node's seccomp folder",
        ),
        (
            json!({"type": "Other"}),
            "allowed are RuntimeDefault, Unconfined and Localhost",
        ),
    ] {
        let scene = scene(json!({}), json!({"seccompProfile": profile}));
        let input = scene.input();
        let error = Scene::error(seccomp(&input, &input.container("main").unwrap()));
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn apparmor_of_container_then_annotation_then_pod() {
    let local = json!({"appArmorProfile": {"type": "Localhost", "localhostProfile": "mine"}});
    let of_pod = json!({"appArmorProfile": {"type": "Unconfined"}});
    for (of_pod, annotation, of_container, expected) in [
        (json!({}), None, json!({}), None),
        (of_pod.clone(), None, json!({}), Some((Unconfined, ""))),
        (
            of_pod.clone(),
            Some("runtime/default"),
            json!({}),
            Some((RuntimeDefault, "")),
        ),
        (
            of_pod.clone(),
            Some("localhost/old"),
            json!({}),
            Some((Localhost, "old")),
        ),
        (
            of_pod,
            Some("runtime/default"),
            local,
            Some((Localhost, "mine")),
        ),
    ] {
        let mut scene = scene(of_pod, of_container);
        if let Some(annotation) = annotation {
            let mut manifest = (*scene.pod.manifest).clone();
            let key = "container.apparmor.security.beta.kubernetes.io/main".to_owned();
            manifest
                .metadata
                .annotations
                .as_mut()
                .unwrap()
                .insert(key, annotation.to_owned());
            scene.pod.manifest = manifest.into();
        }
        let input = scene.input();
        let profile = apparmor(&input, &input.container("main").unwrap()).unwrap();
        let got = profile
            .as_ref()
            .map(|each| (each.profile_type(), each.localhost_ref.as_str()));
        assert_eq!(got, expected);
    }
}
