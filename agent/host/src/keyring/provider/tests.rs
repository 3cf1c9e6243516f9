#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_core::Fail;
use agent_loops::ports::{CredentialOrigin, ServiceAccount, ServiceAccounts, Token, WantedPod};
use async_trait::async_trait;
use serde_json::json;

use super::super::testing::pod;
use super::Providers;

/// A provider that logs each run with its argument and request, and answers with `answer`.
struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    fn new(answer: &str, cache: &str, attributes: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("cloud");
        let script = format!(
            "#!/bin/sh\nread -r request\necho \"$1 $REGION $request\" >> \"{}\"\n{answer}\n",
            folder.path().join("log").display()
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let config = format!(
            "apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\nproviders:\n\
             - name: cloud\n  apiVersion: credentialprovider.kubelet.k8s.io/v1\n  \
             matchImages: ['*.registry.example']\n  defaultCacheDuration: {cache}\n  \
             args: [get]\n  env: [{{name: REGION, value: north}}]\n{attributes}"
        );
        fs::write(folder.path().join("config.yaml"), config).unwrap();
        Self { folder }
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("config.yaml")
    }

    fn providers(&self, accounts: Option<Arc<dyn ServiceAccounts>>) -> Providers {
        Providers::read(&self.config(), self.folder.path(), accounts).unwrap()
    }

    fn log(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

fn answer(scope: &str, more: &str) -> String {
    format!(
        "echo '{{\"kind\": \"CredentialProviderResponse\", \"apiVersion\": \
         \"credentialprovider.kubelet.k8s.io/v1\", \"cacheKeyType\": \"{scope}\", {more} \"auth\": \
         {{\"*.registry.example\": {{\"username\": \"u\", \"password\": \"p\"}}}}}}'"
    )
}

async fn passwords(providers: &Providers, repository: &str, pod: &WantedPod) -> Vec<String> {
    let found = providers.index(repository, pod).await.lookup(repository);
    found.into_iter().map(|each| each.password).collect()
}

#[tokio::test]
async fn a_program_is_asked_for_its_images_only() {
    let desk = Desk::new(&answer("Image", ""), "0s", "");
    let providers = desk.providers(None);
    let pod = pod(json!({}));
    assert_eq!(
        passwords(&providers, "a.registry.example/x", &pod).await,
        ["p"]
    );
    assert_eq!(passwords(&providers, "b.example/x", &pod).await, [""; 0]);
    assert_eq!(
        desk.log(),
        [
            "get north {\"kind\":\"CredentialProviderRequest\",\"apiVersion\":\
        \"credentialprovider.kubelet.k8s.io/v1\",\"image\":\"a.registry.example/x\"}"
        ]
    );
}

#[tokio::test]
async fn answers_are_kept_for_their_scope() {
    let (one, two) = ("a.registry.example/x", "a.registry.example/y");
    let other = "b.registry.example/x";
    // Runs after asking for the first twice, for its neighbour, for another registry.
    for (scope, more, cache, runs) in [
        ("Image", "", "1h", [1, 1, 2, 3]),
        ("Registry", "", "1h", [1, 1, 1, 2]),
        ("Global", "", "1h", [1, 1, 1, 1]),
        ("Global", "", "0s", [1, 2, 3, 4]),
        ("Global", "\"cacheDuration\": \"0s\",", "1h", [1, 2, 3, 4]),
        ("Global", "\"cacheDuration\": \"1h\",", "0s", [1, 1, 1, 1]),
    ] {
        let desk = Desk::new(&answer(scope, more), cache, "");
        let providers = desk.providers(None);
        let pod = pod(json!({}));
        let mut seen = Vec::new();
        for repository in [one, one, two, other] {
            assert_eq!(passwords(&providers, repository, &pod).await, ["p"]);
            seen.push(desk.log().len());
        }
        assert_eq!(seen, runs, "{scope} {more} {cache}");
    }
}

#[tokio::test]
async fn equal_requests_at_one_time_run_it_once() {
    let desk = Desk::new(&answer("Image", ""), "0s", "");
    let providers = desk.providers(None);
    let pod = pod(json!({}));
    let ask = || passwords(&providers, "a.registry.example/x", &pod);
    let (one, two) = tokio::join!(ask(), ask());
    assert_eq!((one, two), (vec!["p".to_owned()], vec!["p".to_owned()]));
    assert_eq!(desk.log().len(), 1);
}

#[tokio::test]
async fn a_program_that_fails_gives_nothing() {
    let wrong = answer("Image", "").replace("k8s.io/v1", "k8s.io/v1beta1");
    for script in [
        "exit 3",
        "echo no json",
        &wrong,
        &answer("Never", ""),
        &answer("Image", "\"more\": 1,"),
    ] {
        let desk = Desk::new(script, "1h", "");
        let providers = desk.providers(None);
        let found = passwords(&providers, "a.registry.example/x", &pod(json!({}))).await;
        assert_eq!(found, [""; 0], "{script}");
        assert_eq!(desk.log().len(), 1);
    }
}

#[test]
fn a_program_that_is_not_there_is_told_at_once() {
    let desk = Desk::new("", "1h", "");
    let error = Providers::read(&desk.config(), Path::new("/nowhere"), None).unwrap_err();
    assert!(
        error.to_string().ends_with("/nowhere/cloud is no program"),
        "{error}"
    );
}

#[derive(Debug)]
struct Accounts;

#[async_trait]
impl ServiceAccounts for Accounts {
    async fn account(&self, namespace: &str, name: &str) -> Result<ServiceAccount, Fail> {
        assert_eq!((namespace, name), ("space", "robot"));
        let role = ("example.com/role".to_owned(), "reader".to_owned());
        Ok(ServiceAccount {
            uid: "uid-9".to_owned(),
            annotations: BTreeMap::from([role]),
        })
    }

    async fn token(
        &self,
        _name: &str,
        account: &ServiceAccount,
        pod: &WantedPod,
        audience: &str,
    ) -> Result<Token, Fail> {
        let text = format!("token-{}-{}-{audience}", account.uid, pod.want.uid);
        Ok(Token(text.into()))
    }
}

fn attributes(required: &str, cache: &str) -> String {
    format!(
        "  tokenAttributes:\n    serviceAccountTokenAudience: hub\n    cacheType: {cache}\n    \
         requireServiceAccount: true\n    requiredServiceAccountAnnotationKeys: [{required}]\n"
    )
}

#[tokio::test]
async fn in_the_name_of_a_service_account() {
    let desk = Desk::new(
        &answer("Image", ""),
        "1h",
        &attributes("example.com/role", "ServiceAccount"),
    );
    let providers = desk.providers(Some(Arc::new(Accounts)));
    let robot = pod(json!({"serviceAccountName": "robot"}));
    let repository = "a.registry.example/x";
    let found = providers.index(repository, &robot).await.lookup(repository);
    let origin = CredentialOrigin::ServiceAccount {
        uid: "uid-9".to_owned(),
        namespace: "space".to_owned(),
        name: "robot".to_owned(),
    };
    assert_eq!(
        found.iter().map(|each| &each.origin).collect::<Vec<_>>(),
        [&origin]
    );
    let log = desk.log().concat();
    let told = "\"serviceAccountToken\":\"token-uid-9-uid-1-hub\",\
                \"serviceAccountAnnotations\":{\"example.com/role\":\"reader\"}";
    assert!(log.contains(told), "{log}");
    // A pod without an account, and an account that does not take part.
    assert_eq!(
        passwords(&providers, repository, &pod(json!({}))).await,
        [""; 0]
    );
    let desk = Desk::new(
        &answer("Image", ""),
        "1h",
        &attributes("example.com/none", "Token"),
    );
    let providers = desk.providers(Some(Arc::new(Accounts)));
    assert_eq!(passwords(&providers, repository, &robot).await, [""; 0]);
    assert!(desk.log().is_empty());
}

#[tokio::test]
async fn a_token_as_the_password_must_not_be_shared() {
    let echo = answer("Image", "").replace("\"p\"", "\"token-uid-9-uid-1-hub\"");
    let robot = pod(json!({"serviceAccountName": "robot"}));
    for (cache, expected) in [("ServiceAccount", 0), ("Token", 1)] {
        let desk = Desk::new(&echo, "1h", &attributes("", cache));
        let providers = desk.providers(Some(Arc::new(Accounts)));
        let found = passwords(&providers, "a.registry.example/x", &robot).await;
        assert_eq!(found.len(), expected, "{cache}");
    }
}
