#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use agent_core::{Fail, FailKind};
use agent_loops::ports::{PodCertificate, ProjectedSource, Token};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::super::make_all;
use super::super::testing::{Bed, mode, mounted, pod};
use crate::testing::with_own_mounts;

/// The volume that every pod has, as far as files go, and credentials of the newer kinds.
fn sources() -> Value {
    json!([
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
        {"configMap": {"name": "m", "items": [{"key": "ca", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [
            {"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
        {"secret": {"name": "s"}},
        {"clusterTrustBundle": {"name": "b", "path": "anchors.pem"}},
        {"podCertificate": {
            "signerName": "e/s", "keyType": "ED25519", "credentialBundlePath": "tls/all.pem",
            "keyPath": "tls/key.pem", "certificateChainPath": "tls/chain.pem"}},
    ])
}

fn with(sources: Value, security: Value, containers: Value) -> Pod {
    pod(json!({
        "securityContext": security, "containers": containers,
        "volumes": [{"name": "v", "projected": {"sources": sources}}],
    }))
}

fn at(index: usize) -> ProjectedSource {
    ProjectedSource {
        volume: "v".to_owned(),
        index,
    }
}

fn full() -> Bed {
    let mut bed = Bed::new();
    bed.secret("s", &[("key", "secret"), ("namespace", "of the secret")]);
    let map = serde_json::from_value(json!({"data": {"ca": "root"}})).unwrap();
    let references = &mut bed.references;
    references
        .config_maps
        .insert("m".to_owned(), Ok(Arc::new(map)));
    let token = Token("token-1".into());
    references.tokens.insert(at(0), Ok(token));
    references
        .trust_bundles
        .insert(at(4), Ok("anchor\n".into()));
    let certificate = PodCertificate {
        key: "KEY\n".to_owned(),
        chain: "LEAF\nCA\n".to_owned(),
    };
    references
        .certificates
        .insert(at(5), Ok(Arc::new(certificate)));
    bed
}

fn read(path: &Path, name: &str) -> String {
    fs::read_to_string(path.join(name)).unwrap()
}

#[test]
fn sources_share_one_folder_in_memory() {
    with_own_mounts("sources_share_one_folder_in_memory", || {
        let bed = full();
        let pod = with(sources(), json!({}), json!([]));
        let path = &bed.make(&pod).unwrap()["v"];
        for (name, content) in [
            ("token", "token-1"),
            ("ca.crt", "root"),
            ("namespace", "of the secret"),
            ("key", "secret"),
            ("anchors.pem", "anchor\n"),
            ("tls/all.pem", "KEY\nLEAF\nCA\n"),
            ("tls/key.pem", "KEY\n"),
            ("tls/chain.pem", "LEAF\nCA\n"),
        ] {
            assert_eq!(read(path, name), content, "a later source wins: {name}");
            let real = fs::canonicalize(path.join(name)).unwrap();
            assert_eq!(mode(&real), 0o644, "{name}");
        }
        assert_eq!((path, mounted(path)), (&bed.volume("projected", "v"), 1));
    });
}

#[test]
fn credentials_belong_to_the_one_user_and_the_group() {
    with_own_mounts("credentials_belong_to_the_one_user_and_the_group", || {
        let container =
            |name: &str, user: Value| json!({"name": name, "securityContext": {"runAsUser": user}});
        let one = json!([container("c", json!(7)), container("d", json!(7))]);
        let two = json!([container("c", json!(7)), container("d", json!(8))]);
        let partly = json!([container("c", json!(7)), container("d", Value::Null)]);
        // Mode and owner of a credential, and of any other file.
        for (security, containers, own, other) in [
            (json!({}), &one, (0o600, 7, 0), (0o644, 0, 0)),
            (json!({}), &two, (0o644, 0, 0), (0o644, 0, 0)),
            (json!({}), &partly, (0o644, 0, 0), (0o644, 0, 0)),
            (
                json!({"runAsUser": 7}),
                &partly,
                (0o600, 7, 0),
                (0o644, 0, 0),
            ),
            (json!({"fsGroup": 9}), &two, (0o640, 0, 9), (0o644, 0, 9)),
            (json!({"fsGroup": 9}), &one, (0o640, 7, 9), (0o644, 0, 9)),
        ] {
            let bed = full();
            let pod = with(sources(), security.clone(), containers.clone());
            // The second time everything is there.
            for _ in 0..2 {
                let path = &bed.make(&pod).unwrap()["v"];
                let found = |name: &str| {
                    let found = fs::metadata(path.join(name)).unwrap();
                    (found.mode() & 0o7777, found.uid(), found.gid())
                };
                for name in ["token", "anchors.pem", "tls/all.pem", "tls/key.pem"] {
                    assert_eq!(found(name), own, "{name} {security}");
                }
                for name in ["ca.crt", "namespace", "key"] {
                    assert_eq!(found(name), other, "{name} {security}");
                }
            }
        }
    });
}

#[test]
fn a_new_token_replaces_the_old_one_and_a_failure_keeps_it() {
    with_own_mounts(
        "a_new_token_replaces_the_old_one_and_a_failure_keeps_it",
        || {
            let mut bed = full();
            let pod = with(sources(), json!({}), json!([]));
            let path = bed.make(&pod).unwrap()["v"].clone();
            let hidden = || fs::read_link(path.join("..data")).unwrap();
            let first = hidden();
            bed.make(&pod).unwrap();
            assert_eq!(hidden(), first, "nothing has changed");
            let token = Token("token-2".into());
            bed.references.tokens.insert(at(0), Ok(token));
            bed.make(&pod).unwrap();
            assert_eq!(read(&path, "token"), "token-2");
            let broken = Fail::retry("X", "the API server does not answer");
            bed.references.tokens.insert(at(0), Err(broken));
            let made = make_all(bed.making(&pod)).unwrap();
            assert_eq!((made.paths["v"] == path, made.stale.len()), (true, 1));
            assert_eq!(read(&path, "token"), "token-2");
        },
    );
}

#[test]
fn all_that_is_missing_is_named() {
    with_own_mounts("all_that_is_missing_is_named", || {
        let bed = Bed::new();
        let fail = |sources: Value| {
            let pod = with(sources, json!({}), json!([]));
            make_all(bed.making(&pod)).unwrap_err().fail("FailedMount")
        };
        let text = |why: &str| format!("MountVolume.SetUp failed for volume \"v\" : {why}");
        let both = json!([{"secret": {"name": "s"}}, {"configMap": {"name": "m"}},
            {"secret": {"name": "o", "optional": true}}]);
        let expected = text("[secret \"s\" not found, configmap \"m\" not found]");
        assert_eq!(fail(both), Fail::retry("FailedMount", expected));
        let token = fail(json!([{"serviceAccountToken": {"path": "token"}}]));
        assert_eq!(token.kind, FailKind::Retry);
        let expected = text("the ServiceAccount token was not asked for");
        assert!(token.message.starts_with(&expected), "{token}");
    });
}

#[test]
fn only_an_optional_trust_bundle_may_be_missing() {
    with_own_mounts("only_an_optional_trust_bundle_may_be_missing", || {
        for (optional, fail, expected) in [
            (false, Fail::gone("X", "no bundle"), None),
            (true, Fail::retry("X", "time-out"), None),
            (true, Fail::gone("X", "no bundle"), Some("")),
        ] {
            let mut bed = Bed::new();
            let bundle = json!({"name": "b", "path": "a.pem", "optional": optional});
            let pod = with(
                json!([{"clusterTrustBundle": bundle}]),
                json!({}),
                json!([]),
            );
            let words = fail.message.clone();
            bed.references.trust_bundles.insert(at(0), Err(fail));
            match (bed.make(&pod), expected) {
                (Ok(paths), Some(content)) => assert_eq!(read(&paths["v"], "a.pem"), content),
                (Err(error), None) => {
                    let fail = error.fail("X");
                    assert_eq!((fail.kind, fail.message), (FailKind::Retry, words));
                }
                (outcome, _) => assert!(outcome.is_err(), "{words} with optional {optional}"),
            }
        }
    });
}
