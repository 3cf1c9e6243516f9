//! A credential provider: a program that the agent runs for the password of an image.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use e2e::{Cluster, Registry};
use serde_json::{Value, json};

use super::{ensure_prints, pod};

/// Images for which it is asked.
const IMAGES: &str = "127.0.0.1:5000/provided";

/// Writes program and configuration, for the agent's start; gives the file in which each call leaves its request.
pub(super) fn install(cluster: &mut Cluster) -> Result<PathBuf> {
    let folder = cluster.node.scratch("providers")?;
    let requests = cluster.node.scratch("provider-requests")?.join("requests");
    let answer = json!({
        "apiVersion": "credentialprovider.kubelet.k8s.io/v1",
        "kind": "CredentialProviderResponse",
        "cacheKeyType": "Registry",
        "cacheDuration": "10m",
        "auth": { (Registry::HOST): { "username": Registry::USER, "password": Registry::PASSWORD } },
    });
    let program = folder.join("provider");
    let text = format!(
        "#!/bin/sh\n{{ printf '%s ' \"$@\" \"$WORD\"; cat; echo; }} >> {}\necho '{answer}'\n",
        requests.display()
    );
    fs::write(&program, text)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    let configuration = json!({
        "apiVersion": "kubelet.config.k8s.io/v1",
        "kind": "CredentialProviderConfig",
        "providers": [{
            "name": "provider",
            "matchImages": [IMAGES],
            "defaultCacheDuration": "1m",
            "apiVersion": "credentialprovider.kubelet.k8s.io/v1",
            "args": ["--for", "test"],
            "env": [{ "name": "WORD", "value": "said" }],
        }],
    });
    let file = cluster
        .node
        .scratch("provider-requests")?
        .join("config.yaml");
    fs::write(&file, configuration.to_string())?;
    cluster.node.agent.arguments.extend([
        format!("--image-credential-provider-config={}", file.display()),
        format!("--image-credential-provider-bin-dir={}", folder.display()),
    ]);
    Ok(requests)
}

pub(super) async fn check(cluster: &Cluster, registry: &Registry, requests: &Path) -> Result<()> {
    let node = &cluster.node;
    let one = registry.push(node, "provided/one:1", &[("etc/mark", "one\n")])?;
    let two = registry.push(node, "provided/two:1", &[("etc/mark", "two\n")])?;
    ensure_prints(cluster, &pod("provided", &one, "IfNotPresent", ""), "one\n").await?;
    // What the program said is good for the whole registry, and for some time.
    ensure_prints(
        cluster,
        &pod("provided-two", &two, "IfNotPresent", ""),
        "two\n",
    )
    .await?;
    // A node's own password is every pod's.
    ensure_prints(
        cluster,
        &pod("provided-again", &one, "IfNotPresent", ""),
        "one\n",
    )
    .await?;
    let calls = fs::read_to_string(requests).context("the program was never called")?;
    ensure!(
        calls.trim().lines().count() == 1,
        "it was called more than once: {calls}"
    );
    let request = calls.trim().strip_prefix("--for test said ");
    let request: Value =
        serde_json::from_str(request.with_context(|| format!("called with {calls}"))?)?;
    ensure!(request["kind"] == "CredentialProviderRequest", "{request}");
    ensure!(
        request["apiVersion"] == "credentialprovider.kubelet.k8s.io/v1",
        "{request}"
    );
    ensure!(
        request["image"] == one.rsplit_once(':').map_or("", |(name, _)| name),
        "{request}"
    );
    Ok(())
}
