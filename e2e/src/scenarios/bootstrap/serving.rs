//! The serving certificate: asked for, approved by a person, and served.

use anyhow::{Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use e2e::{CSR, Cluster};
use serde_json::{Value, json};

use super::{Certificate, NODE_USER, RENEWAL_LIMIT, pki};

const SIGNER: &str = "kubernetes.io/kubelet-serving";

/// Nobody can ask the node until its certificate is approved; then the API server, which trusts the cluster's authority
/// alone, can.
pub(super) async fn is_approved(cluster: &Cluster) -> Result<()> {
    let request = cluster
        .objects()
        .until_all(CSR, "", |requests| {
            let ours: Vec<&Value> = requests
                .iter()
                .filter(|request| request["spec"]["signerName"] == SIGNER)
                .collect();
            let [one] = ours.as_slice() else {
                anyhow::bail!("there are {} requests", ours.len());
            };
            Ok((*one).clone())
        })
        .await?;
    let spec = &request["spec"];
    ensure!(spec["username"] == NODE_USER, "{spec}");
    let mut usages: Vec<Value> = spec["usages"].as_array().cloned().unwrap_or_default();
    usages.sort_by_key(Value::to_string);
    ensure!(usages == ["digital signature", "server auth"], "{usages:?}");
    ensure!(request["status"]["conditions"] == json!(null), "{request}");
    let refused = cluster.kubectl.output(&["logs", "stays"], "").await?;
    ensure!(
        !refused.status.success(),
        "the node serves without a certificate"
    );

    let name = request["metadata"]["name"].as_str().unwrap_or_default();
    cluster
        .kubectl
        .run(&["certificate", "approve", name])
        .await?;
    let link = pki(cluster).join("kubelet-server-current.pem");
    e2e::until("the serving certificate", RENEWAL_LIMIT, async || {
        Certificate::read(&link)?.is_well_kept()
    })
    .await?;
    e2e::until(
        "an answer under the certificate",
        RENEWAL_LIMIT,
        async || cluster.kubectl.run(&["logs", "stays"]).await,
    )
    .await?;
    // The API server has just checked the address that it called; the file is what the controllers signed.
    let request = cluster.objects().get(CSR, name).await?;
    let signed = request["status"]["certificate"]
        .as_str()
        .unwrap_or_default();
    let signed = String::from_utf8(STANDARD.decode(signed)?)?;
    let kept = Certificate::read(&link)?;
    ensure!(
        kept.text.contains(signed.trim()),
        "{} is not what was signed",
        link.display()
    );
    Ok(())
}
