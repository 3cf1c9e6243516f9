#![allow(clippy::unwrap_used)]

use agent_loops::ports::ImageFacts;
use proto::cri::LinuxContainerSecurityContext;
use serde_json::{Value, json};

use super::super::error::ConfigError;
use super::super::kernel::Kernel;
use super::super::testing::Scene;
use super::security;

fn image(uid: Option<i64>, username: &str) -> ImageFacts {
    ImageFacts {
        reference: "sha256:1".to_owned(),
        uid,
        username: username.to_owned(),
        size: 1,
    }
}

fn build(
    of_pod: Value,
    of_container: Value,
    image: &ImageFacts,
) -> Result<LinuxContainerSecurityContext, ConfigError> {
    let scene = Scene::new(json!({
        "securityContext": of_pod,
        "containers": [{"name": "main", "securityContext": of_container}],
    }));
    let kernel = Kernel {
        masked_paths: vec!["/proc/kcore".to_owned()],
        ..Default::default()
    };
    let input = scene.input();
    security(&input, &input.container("main").unwrap(), image, &kernel)
}

#[test]
fn users() {
    for (of_pod, of_container, image, user, name) in [
        (json!({}), json!({}), image(None, ""), Some(0), ""),
        (json!({}), json!({}), image(Some(7), ""), Some(7), ""),
        (json!({}), json!({}), image(None, "app"), None, "app"),
        (
            json!({"runAsUser": 3}),
            json!({}),
            image(None, "app"),
            Some(3),
            "",
        ),
        (
            json!({"runAsUser": 3}),
            json!({"runAsUser": 4}),
            image(Some(7), ""),
            Some(4),
            "",
        ),
        (
            json!({"runAsNonRoot": true}),
            json!({}),
            image(Some(7), ""),
            Some(7),
            "",
        ),
        (
            json!({"runAsNonRoot": true}),
            json!({"runAsNonRoot": false}),
            image(None, ""),
            Some(0),
            "",
        ),
    ] {
        let built = build(of_pod, of_container, &image).unwrap();
        let got = (
            built.run_as_user.map(|user| user.value),
            built.run_as_username.as_str(),
        );
        assert_eq!(got, (user, name));
    }
}

#[test]
fn root_is_refused_where_it_must_not_be() {
    let non_root = json!({"runAsNonRoot": true});
    let place = "(pod: \"web-node_space(uid-1)\", container: main)";
    let by_image = "container has runAsNonRoot and image will run as root";
    let by_name = "container has runAsNonRoot and image has non-numeric user (app), cannot verify \
                   user is non-root";
    for (of_container, image, text) in [
        (json!({}), image(None, ""), by_image),
        (json!({}), image(Some(0), ""), by_image),
        (
            json!({"runAsUser": 0}),
            image(Some(7), ""),
            "container's runAsUser breaks non-root policy",
        ),
        (json!({}), image(None, "app"), by_name),
    ] {
        let error = Scene::error(build(non_root.clone(), of_container, &image));
        assert_eq!(error, format!("{text} {place}"));
    }
}

#[test]
fn everything_else() {
    let of_pod = json!({
        "runAsGroup": 1, "fsGroup": 2, "supplementalGroups": [3],
        "seLinuxOptions": {"type": "pod_t"},
    });
    let of_container = json!({
        "privileged": true, "readOnlyRootFilesystem": true, "allowPrivilegeEscalation": false,
        "capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]},
        "seLinuxOptions": {"type": "own_t"}, "runAsGroup": 9,
    });
    let built = build(of_pod, of_container, &image(None, "")).unwrap();
    assert!(built.privileged && built.readonly_rootfs && built.no_new_privs);
    let capabilities = built.capabilities.unwrap();
    assert_eq!(capabilities.add_capabilities, ["NET_ADMIN"]);
    assert_eq!(capabilities.drop_capabilities, ["ALL"]);
    assert_eq!(built.selinux_options.unwrap().r#type, "own_t");
    assert_eq!(built.run_as_group.unwrap().value, 9);
    assert_eq!(built.supplemental_groups, [2, 3]);

    let plain = build(json!({}), json!({}), &image(None, "")).unwrap();
    assert!(!plain.privileged && !plain.readonly_rootfs && !plain.no_new_privs);
    assert_eq!(plain.capabilities, None);
    assert_eq!(plain.masked_paths, ["/proc/kcore"]);
    assert!(plain.readonly_paths.iter().any(|path| path == "/proc/sys"));
    let unmasked = build(
        json!({}),
        json!({"procMount": "Unmasked"}),
        &image(None, ""),
    )
    .unwrap();
    assert!(unmasked.masked_paths.is_empty() && unmasked.readonly_paths.is_empty());
}
