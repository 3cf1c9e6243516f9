//! Ports of a pod at the user's side, those included that only the pod's own loopback has.

use std::fs;

use anyhow::{Context, Result, ensure};
use e2e::{Cluster, api_pod, container, until};
use serde_json::json;

use super::TRANSPORTS;
use crate::scenarios::POD_LIMIT;

const WEB: &str = "web";
const LARGE: usize = 2_000_000;

pub(super) async fn check(cluster: &Cluster) -> Result<()> {
    let line = format!(
        "head -c {LARGE} /dev/zero | tr '\\0' x > /www/large; echo hello > /www/small; \
         httpd -p 127.0.0.1:81 -h /www; exec httpd -f -p 80 -h /www"
    );
    let probe = json!({ "httpGet": { "port": 80, "path": "/small" }, "periodSeconds": 1 });
    let main = container("main", &line, json!({ "readinessProbe": probe }));
    let spec = json!({ "containers": [main] });
    cluster.objects().apply(&api_pod(WEB, spec)).await?;
    cluster.objects().ready(WEB).await?;
    for (transport, first) in TRANSPORTS.into_iter().zip([18080, 18090]) {
        let log = cluster
            .node
            .log_file(&format!("kubectl-forward-{}", transport.name));
        let ports = [format!("{first}:80"), format!("{}:81", first + 1)];
        let mut forward = transport
            .kubectl(cluster)
            .start(&["port-forward", "pod/web", &ports[0], &ports[1]], &log)?;
        until("both ports", POD_LIMIT, async || {
            forward.alive()?;
            let said = fs::read_to_string(&log)?;
            let ready = said.matches("Forwarding from 127.0.0.1").count();
            ensure!(ready == 2, "it says {said}");
            Ok(())
        })
        .await?;
        let netns = &cluster.node.containerd.how().netns;
        let get =
            |port: u16, path: &'static str| netns.http_get(([127, 0, 0, 1], port).into(), path);
        // Two connections at once, and then one more.
        let (large, small) = tokio::join!(get(first, "/large"), get(first + 1, "/small"));
        let (large, small) = (
            large.context(transport.name)?,
            small.context(transport.name)?,
        );
        let body = large.rsplit("\r\n\r\n").next().unwrap_or_default();
        ensure!(
            body == "x".repeat(LARGE),
            "{} bytes: {}",
            transport.name,
            body.len()
        );
        ensure!(small.ends_with("hello\n"), "{}: {small}", transport.name);
        let again = get(first, "/small").await.context(transport.name)?;
        ensure!(again.ends_with("hello\n"), "{}: {again}", transport.name);
        forward.alive()?;
    }
    Ok(())
}
