#![allow(clippy::unwrap_used)]

use super::*;

const CLUSTER: &str = "clusters: [{name: k, cluster: {server: 'https://192.0.2.1:6443'}}]";
const CONTEXT: &str = "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]";

async fn load(text: &str) -> Result<Endpoint, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kubelet.conf");
    std::fs::write(&file, text).unwrap();
    Endpoint::load(&file).await.map_err(|error| {
        let text = base_daemon::Chain(&error).to_string();
        text.replace(&folder.path().display().to_string(), "")
    })
}

async fn refused(text: &str) -> String {
    load(text).await.err().unwrap_or_default()
}

#[tokio::test]
async fn errors_name_the_file_and_the_field() {
    assert_eq!(
        refused("kind: Config").await,
        "kubeconfig /kubelet.conf: current-context: it is missing"
    );
    assert_eq!(
        refused("current-context: x").await,
        "kubeconfig /kubelet.conf: contexts: there is no context \"x\""
    );
    assert_eq!(
        refused(CONTEXT).await,
        "kubeconfig /kubelet.conf: clusters: there is no cluster \"k\""
    );
    assert_eq!(
        refused(&format!(
            "{CONTEXT}\nclusters: [{{name: k, cluster: {{}}}}]"
        ))
        .await,
        "kubeconfig /kubelet.conf: server: it is missing"
    );
    let user = |user: &str| format!("{CONTEXT}\n{CLUSTER}\nusers: [{{name: u, user: {user}}}]");
    assert_eq!(
        refused(&user("{client-certificate-data: '%%'}")).await,
        "kubeconfig /kubelet.conf: client-certificate-data: it is no valid base64"
    );
    assert_eq!(
        refused(&user("{client-certificate: a.pem}")).await,
        "kubeconfig /kubelet.conf: client-key: it is missing, a client certificate needs its key"
    );
    let proxied = CLUSTER.replace("}}]", ", proxy-url: 'socks5://192.0.2.9:1080'}}]");
    assert_eq!(
        refused(&format!("{CONTEXT}\n{proxied}")).await,
        "kubeconfig /kubelet.conf: proxy-url: a socks5 proxy is not supported, only http://HOST:PORT is"
    );
}

#[tokio::test]
async fn a_broken_file_is_not_quoted() {
    let error = refused("users: [{name: u, user: {token: [s3cret]}}]\n").await;
    assert!(error.contains("it is not a kubeconfig at line"), "{error}");
    assert!(!error.contains("s3cret"), "{error}");
}

#[tokio::test]
async fn nothing_secret_is_shown() {
    let cluster = CLUSTER.replace("}}]", ", proxy-url: 'http://me:s3cret@192.0.2.9:3128'}}]");
    let text = format!(
        "{CONTEXT}\n{cluster}\nusers: [{{name: u, user: {{token: s3cret, \
         client-certificate-data: czNjcmV0, client-key-data: czNjcmV0}}}}]"
    );
    let endpoint = load(&text).await.unwrap();
    let shown = format!("{endpoint:?}");
    assert!(
        !shown.contains("s3cret") && !shown.contains("czNjcmV0"),
        "{shown}"
    );
    let error = endpoint.pair.unwrap().load().unwrap_err().to_string();
    assert!(error.contains("there is no certificate in it"), "{error}");
}

#[tokio::test]
async fn the_rest_of_the_cluster_survives_the_bootstrap() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("a"), folder.path().join("deep/b"));
    let cluster = CLUSTER.replace(
        "}}]",
        ", tls-server-name: api.example.com, proxy-url: 'http://192.0.2.9:3128'}}]",
    );
    std::fs::write(&from, format!("{CONTEXT}\n{cluster}")).unwrap();
    let endpoint = Endpoint::load(&from).await.unwrap();
    endpoint
        .write_with(&to, Path::new("/pki/current.pem"))
        .unwrap();
    let written = Endpoint::load(&to).await.unwrap();
    assert_eq!(
        written.config.tls_server_name.as_deref(),
        Some("api.example.com")
    );
    assert!(written.proxy.is_some());
    assert_eq!(
        written.pair.unwrap().files(),
        [Path::new("/pki/current.pem"), Path::new("/pki/current.pem")]
    );
}
