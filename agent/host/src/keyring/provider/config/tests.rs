#![allow(clippy::unwrap_used)]

use std::fs;
use std::time::Duration;

use super::read;

const GOOD: &str = "
apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: cloud
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  matchImages: ['*.registry.example']
  defaultCacheDuration: 10m
  args: [get]
  env: [{name: REGION, value: north}]
  tokenAttributes:
    serviceAccountTokenAudience: registry
    cacheType: Token
    requireServiceAccount: true
    requiredServiceAccountAnnotationKeys: [example.com/role]
";

#[test]
fn one_file_and_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let first = folder.path().join("10-a.yaml");
    fs::write(&first, GOOD).unwrap();
    let providers = read(&first).unwrap();
    assert_eq!(providers.len(), 1);
    assert_eq!(
        providers[0].default_cache_duration,
        Duration::from_secs(600)
    );
    assert!(providers[0].token_attributes.as_ref().unwrap().per_token());
    fs::write(
        folder.path().join("20-b.json"),
        r#"{"kind": "CredentialProviderConfig",
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "providers": [{"name": "other",
        "apiVersion": "credentialprovider.kubelet.k8s.io/v1beta1", "matchImages": ["a.example"],
        "defaultCacheDuration": "0s"}]}"#,
    )
    .unwrap();
    fs::write(folder.path().join("notes.txt"), "no").unwrap();
    let names: Vec<String> = read(folder.path())
        .unwrap()
        .into_iter()
        .map(|each| each.name)
        .collect();
    assert_eq!(names, ["cloud", "other"]);
    fs::copy(&first, folder.path().join("30-c.yml")).unwrap();
    let error = read(folder.path()).unwrap_err().to_string();
    assert_eq!(error, "provider \"cloud\": its name is there twice");
}

#[test]
fn what_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    for (from, to, says) in [
        ("name: cloud", "name: a/b", "name has to be"),
        ("name: cloud", "name: '..'", "name has to be"),
        ("k8s.io/v1\n  match", "k8s.io/v2\n  match", "apiVersion"),
        (
            "k8s.io/v1\n  match",
            "k8s.io/v1beta1\n  match",
            "tokenAttributes need apiVersion",
        ),
        ("['*.registry.example']", "[]", "matchImages is empty"),
        ("10m", "soon", "no duration"),
        ("10m", "-1s", "no duration"),
        ("  defaultCacheDuration: 10m\n", "", "missing field"),
        ("Audience: registry", "Audience: ''", "Audience is empty"),
        (
            "Account: true",
            "Account: false",
            "need requireServiceAccount",
        ),
        ("cacheType: Token", "cacheType: Never", "unknown variant"),
        ("[example.com/role]", "[a/b, a/b]", "twice"),
        (
            "kind: Cred",
            "kind: Pred",
            "needed is a CredentialProviderConfig",
        ),
        ("args:", "arguments:", "unknown field"),
    ] {
        assert!(GOOD.contains(from), "{from}");
        fs::write(&file, GOOD.replace(from, to)).unwrap();
        let error = base_daemon::Chain(&read(&file).unwrap_err()).to_string();
        assert!(error.contains(says), "{to}: {error}");
    }
    assert!(read(&folder.path().join("none")).is_err());
}
