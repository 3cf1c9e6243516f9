//! A projected volume of every source: its token is good for its audience and no other, its trust bundles are the
//! signer's, and its certificate is the one that the signer gave for its key.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use e2e::{Cluster, HOSTNAME, STAY, api_pod, container, metadata, until};
use http::Method;
use rcgen::{KeyPair, PublicKeyData};
use serde_json::{Value, json};

use super::signer::{self, Signed, Signer};
use super::{ensure_inside, inside};

/// Whom the token is for.
const AUDIENCE: &str = "vault";
/// A restarted agent asks within seconds.
const RENEWAL: Duration = Duration::from_secs(60);

pub(super) async fn check(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let signer = Signer::new()?;
    for object in objects_of(&signer) {
        objects.apply(&object).await?;
    }
    objects.apply(&pod()).await?;
    let signed = signer.sign(cluster, "projected").await?;
    let pod = objects.ready("projected").await?;
    asked_for(&signed.request, &pod)?;
    for (line, expected) in [
        (
            "cat /all/secret/key /all/map; echo; cat /all/name",
            "word\nplain\n\nprojected",
        ),
        (
            "stat -Lc %a /all/secret/key /all/map /all/token /all/bundle.pem",
            "400\n440\n440\n440\n",
        ),
        ("cat /all/by-name.pem", &signer.authority()),
        ("cat /all/by-signer.pem", &signer.authority()),
        (
            "ls /all/absent.pem && wc -c < /all/absent.pem",
            "/all/absent.pem\n0\n",
        ),
        ("cat /all/chain.pem", &signed.chain),
    ] {
        ensure_inside(cluster, "projected", line, expected).await?;
    }
    certified(cluster, &signed).await?;
    let token = inside(cluster, "projected", "cat /all/token").await?;
    good_token(cluster, &token, &pod).await?;
    // The usual one, which every pod gets.
    let line =
        "cd /var/run/secrets/kubernetes.io/serviceaccount && ls && cat namespace && wc -l < ca.crt";
    let usual = inside(cluster, "projected", line).await?;
    ensure!(
        usual.starts_with("ca.crt\nnamespace\ntoken\ndefault"),
        "{usual}"
    );
    Ok(())
}

/// That the request says for whom it is, and what the manifest asks.
fn asked_for(request: &Value, pod: &Value) -> Result<()> {
    for (field, expected) in [
        ("podName", &json!("projected")),
        ("podUID", &pod["metadata"]["uid"]),
        ("serviceAccountName", &json!("default")),
        ("nodeName", &json!(HOSTNAME)),
        ("maxExpirationSeconds", &json!(7200)),
        (
            "unverifiedUserAnnotations",
            &json!({ "e2e.test/wish": "small" }),
        ),
    ] {
        ensure!(
            request[field] == *expected,
            "{field} is not {expected} in {request}"
        );
    }
    Ok(())
}

/// That bundle and key are of one piece with the certificate.
async fn certified(cluster: &Cluster, signed: &Signed) -> Result<()> {
    let bundle = inside(cluster, "projected", "cat /all/bundle.pem").await?;
    ensure!(
        bundle.ends_with(&signed.chain),
        "the bundle has another certificate"
    );
    for text in [
        bundle,
        inside(cluster, "projected", "cat /all/key.pem").await?,
    ] {
        ensure!(
            text.starts_with("-----BEGIN PRIVATE KEY-----"),
            "no key stands in front"
        );
        let end = "-----END PRIVATE KEY-----\n";
        let key = text.split_inclusive(end).next().unwrap_or_default();
        let key = KeyPair::from_pem(key)?;
        ensure!(
            key.der_bytes() == signed.key,
            "it is not the key that was certified"
        );
    }
    Ok(())
}

/// A restarted agent has no tokens and asks for new ones, which running containers see. That tokens are renewed at
/// 80 % of their life, which is 10 minutes at the least, is for tests in virtual time to show.
pub(super) async fn renewed_token(cluster: &mut Cluster) -> Result<()> {
    let before = cluster.node.cri().running("projected", "main").await?;
    let old = inside(cluster, "projected", "cat /alone/token").await?;
    cluster.node.agent.stop().await?;
    // Tokens of the same second are the same.
    let issued = claims(&old)?["iat"].clone();
    cluster.start_agent().await?;
    let new = until("a new token in the container", RENEWAL, async || {
        let new = inside(cluster, "projected", "cat /alone/token").await?;
        ensure!(new != old, "it is the old one of {issued}");
        Ok(new)
    })
    .await?;
    let pod = cluster.objects().ready("projected").await?;
    good_token(cluster, &new, &pod).await?;
    let after = cluster.node.cri().running("projected", "main").await?;
    ensure!(before.id == after.id, "the container is another one");
    Ok(())
}

/// That the API server takes the token as this pod's, for its audience, for 10 minutes.
async fn good_token(cluster: &Cluster, token: &str, pod: &Value) -> Result<()> {
    let told = review(cluster, token, AUDIENCE).await?;
    ensure!(told["authenticated"] == true, "{}", told["error"]);
    ensure!(
        told["audiences"] == json!([AUDIENCE]),
        "{}",
        told["audiences"]
    );
    let user = &told["user"];
    ensure!(
        user["username"] == "system:serviceaccount:default:default",
        "{user}"
    );
    let extra = |key: &str| &user["extra"][format!("authentication.kubernetes.io/{key}")][0];
    ensure!(*extra("pod-uid") == pod["metadata"]["uid"], "{user}");
    ensure!(*extra("node-name") == HOSTNAME, "{user}");
    let other = review(cluster, token, "bank").await?;
    ensure!(
        other["authenticated"] != true,
        "it is good for another audience"
    );
    let claims = claims(token)?;
    let moment = |name: &str| claims[name].as_i64().with_context(|| format!("no {name}"));
    ensure!(moment("exp")? - moment("iat")? == 600, "{claims}");
    Ok(())
}

async fn review(cluster: &Cluster, token: &str, audience: &str) -> Result<Value> {
    let review = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
        "spec": { "token": token, "audiences": [audience] },
    });
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    let body = Some(("application/json", &review));
    Ok(cluster.objects().call(Method::POST, path, body).await?["status"].clone())
}

/// What the token says of itself.
fn claims(token: &str) -> Result<Value> {
    let middle = token.split('.').nth(1).context("not a token")?;
    Ok(serde_json::from_slice(&URL_SAFE_NO_PAD.decode(middle)?)?)
}

fn objects_of(signer: &Signer) -> Vec<Value> {
    // A signer's bundles carry its name in front.
    let bundle = format!("{}:one", signer::NAME.replace('/', ":"));
    vec![
        json!({
            "apiVersion": "certificates.k8s.io/v1", "kind": "ClusterTrustBundle",
            "metadata": { "name": bundle, "labels": { "trust": "one" } },
            "spec": { "signerName": signer::NAME, "trustBundle": signer.authority() },
        }),
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": metadata("projected"), "stringData": { "key": "word\n" },
        }),
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata("projected"), "data": { "map": "plain\n" },
        }),
    ]
}

fn pod() -> Value {
    let bundle = format!("{}:one", signer::NAME.replace('/', ":"));
    let labels = json!({ "matchLabels": { "trust": "one" } });
    let sources = json!([
        { "secret": { "name": "projected", "items": [{ "key": "key", "path": "secret/key", "mode": 0o400 }] } },
        { "configMap": { "name": "projected" } },
        { "downwardAPI": { "items": [{ "path": "name", "fieldRef": { "fieldPath": "metadata.name" } }] } },
        { "serviceAccountToken": { "path": "token", "audience": AUDIENCE, "expirationSeconds": 600 } },
        { "clusterTrustBundle": { "name": bundle, "path": "by-name.pem" } },
        { "clusterTrustBundle": { "signerName": signer::NAME, "labelSelector": labels, "path": "by-signer.pem" } },
        { "clusterTrustBundle": { "name": "absent", "optional": true, "path": "absent.pem" } },
        { "podCertificate": {
            "signerName": signer::NAME, "keyType": "ECDSAP256", "maxExpirationSeconds": 7200,
            "credentialBundlePath": "bundle.pem", "keyPath": "key.pem", "certificateChainPath": "chain.pem",
            "userAnnotations": { "e2e.test/wish": "small" },
        } },
    ]);
    // Beside the other sources a token waits for them, and a restarted agent asks for a new certificate.
    let alone = sources[3].clone();
    let mounts = json!([
        { "name": "all", "mountPath": "/all" },
        { "name": "alone", "mountPath": "/alone" },
    ]);
    let spec = json!({
        "volumes": [
            { "name": "all", "projected": { "defaultMode": 0o440, "sources": sources } },
            { "name": "alone", "projected": { "sources": [alone] } },
        ],
        "containers": [container("main", STAY, json!({ "volumeMounts": mounts }))],
    });
    api_pod("projected", spec)
}
