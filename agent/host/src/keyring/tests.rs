#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use agent_core::{Fail, ImageName};
use agent_loops::ports::{CredentialOrigin, Keyring, Leave, PullEnd, References};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use serde_json::json;

use super::testing::pod;
use super::{KeyringSettings, NodeKeyring};

fn keyring(root: &Path) -> NodeKeyring {
    let settings = KeyringSettings {
        root: root.to_owned(),
        home: Some(root.join("home")),
        ..Default::default()
    };
    NodeKeyring::open(&settings, None).unwrap()
}

fn secret(kind: &str, key: &str, text: &str) -> Result<Arc<Secret>, Fail> {
    let mut secret = Secret {
        type_: Some(kind.to_owned()),
        data: Some([(key.to_owned(), ByteString(text.as_bytes().to_vec()))].into()),
        ..Default::default()
    };
    secret.metadata.uid = Some(format!("uid-{kind}"));
    Ok(Arc::new(secret))
}

fn config(user: &str) -> String {
    format!("{{\"auths\": {{\"example.com\": {{\"username\": \"{user}\", \"password\": \"p\"}}}}}}")
}

/// Pull secrets of both kinds, a torn one, one of another type, one that is not there.
fn references() -> References {
    let old = "{\"example.com/team\": {\"username\": \"old\"}}";
    References {
        secrets: [
            (
                "new".to_owned(),
                secret(
                    "kubernetes.io/dockerconfigjson",
                    ".dockerconfigjson",
                    &config("new"),
                ),
            ),
            (
                "old".to_owned(),
                secret("kubernetes.io/dockercfg", ".dockercfg", old),
            ),
            (
                "bad".to_owned(),
                secret("kubernetes.io/dockercfg", ".dockercfg", "torn"),
            ),
            ("other".to_owned(), secret("Opaque", ".dockercfg", old)),
            (
                "lost".to_owned(),
                Err(Fail::gone("NotFound", "secret \"lost\" not found")),
            ),
        ]
        .into(),
        ..Default::default()
    }
}

#[tokio::test]
async fn secrets_come_before_the_nodes_files() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("config.json"), config("node")).unwrap();
    let keyring = keyring(root.path());
    let references = references();
    let names = ["new", "old", "bad", "other", "lost", "unheard", ""];
    let names: Vec<_> = names.iter().map(|name| json!({"name": name})).collect();
    let pod = pod(json!({"imagePullSecrets": names}));
    assert_eq!(
        keyring.missing(&pod, &references),
        ["bad", "lost", "unheard"]
    );
    let found = |image: &str| {
        let (keyring, pod, references, image) =
            (&keyring, &pod, &references, ImageName::new(image));
        async move {
            let found = keyring.credentials(&image, pod, references).await.unwrap();
            found
                .into_iter()
                .map(|each| each.username)
                .collect::<Vec<_>>()
        }
    };
    assert_eq!(
        found("example.com/team/app:1").await,
        ["old", "new", "node"]
    );
    assert_eq!(found("example.com/app").await, ["new", "node"]);
    assert_eq!(found("busybox").await, [""; 0]);
    let image = ImageName::new("example.com/app");
    let all = keyring
        .credentials(&image, &pod, &references)
        .await
        .unwrap();
    let origin = CredentialOrigin::Secret {
        uid: "uid-kubernetes.io/dockerconfigjson".to_owned(),
        namespace: "space".to_owned(),
        name: "new".to_owned(),
    };
    assert_eq!(
        (&all[0].origin, &all[1].origin),
        (&origin, &CredentialOrigin::Node)
    );
    assert!(
        !format!("{all:?}").contains("\"p\""),
        "no password is shown"
    );
}

#[tokio::test]
async fn the_first_file_that_can_be_read_counts() {
    let root = tempfile::tempdir().unwrap();
    let keyring = keyring(root.path());
    let found = || async {
        let image = ImageName::new("example.com/app");
        let (pod, references) = (pod(json!({})), References::default());
        let found = keyring.credentials(&image, &pod, &references);
        let found = found.await.unwrap().into_iter().map(|each| each.username);
        found.collect::<Vec<_>>()
    };
    assert_eq!(found().await, [""; 0]);
    // From the last place to the first; each is read without a restart.
    fs::create_dir_all(root.path().join("home/.docker")).unwrap();
    let old = "{\"example.com\": {\"username\": \"USER\"}}";
    for (path, text, user) in [
        ("home/.dockercfg", old, "a"),
        (".dockercfg", old, "b"),
        ("home/.docker/config.json", &config("USER"), "c"),
        ("config.json", &config("USER"), "d"),
    ] {
        fs::write(root.path().join(path), text.replace("USER", user)).unwrap();
        assert_eq!(found().await, [user], "{path}");
    }
    fs::write(root.path().join("config.json"), "torn").unwrap();
    assert_eq!(found().await, ["c"]);
}

#[tokio::test]
async fn pulls_are_recorded() {
    let root = tempfile::tempdir().unwrap();
    let keyring = keyring(root.path());
    let image = ImageName::new("example.com/app:1");
    keyring.pulling(&image, None).await.unwrap();
    assert_eq!(keyring.leave(&image, "r").await, Leave::Nobody);
    let end = PullEnd::Pulled {
        reference: "r".to_owned(),
        credential: None,
    };
    keyring.pulled(&image, end).await;
    assert_eq!(keyring.leave(&image, "r").await, Leave::Everybody);
}

#[test]
fn a_bad_policy_is_told() {
    let root = tempfile::tempdir().unwrap();
    let settings = KeyringSettings {
        root: root.path().to_owned(),
        verification: "Sometimes".to_owned(),
        ..Default::default()
    };
    let error = NodeKeyring::open(&settings, None).unwrap_err();
    let text = base_daemon::Chain(&error).to_string();
    assert!(text.contains("\"Sometimes\""), "{text}");
}
