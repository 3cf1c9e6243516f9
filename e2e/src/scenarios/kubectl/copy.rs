//! Folders copied into a container and out of it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use e2e::Cluster;

use super::{POD, TRANSPORTS, Transport};

pub(super) async fn check(cluster: &Cluster) -> Result<()> {
    for transport in TRANSPORTS {
        over(cluster, transport).await.context(transport.name)?;
    }
    Ok(())
}

async fn over(cluster: &Cluster, transport: Transport) -> Result<()> {
    let kubectl = transport.kubectl(cluster);
    let scratch = cluster.node.scratch(&format!("copy-{}", transport.name))?;
    let (there, back) = (scratch.join("there"), scratch.join("back"));
    let large: Vec<u8> = (0..2_000_000_u32)
        .flat_map(|number| number.to_le_bytes()[..2].to_vec())
        .collect();
    fs::create_dir_all(there.join("deep/er"))?;
    fs::write(there.join("large"), &large)?;
    fs::write(there.join("deep/er/small"), "small\n")?;

    let remote = format!("{POD}:/tmp/{}", transport.name);
    kubectl.run(&["cp", path(&there)?, &remote]).await?;
    let cri = cluster.node.cri();
    let id = cri.running(POD, "main").await?.id;
    let line = format!(
        "cd /tmp/{}; cat deep/er/small; wc -c < large; echo new > deep/new",
        transport.name
    );
    let said = cri.shell(&id, &line).await?;
    ensure!(said == format!("small\n{}\n", large.len()), "{said:?}");

    kubectl.run(&["cp", &remote, path(&back)?]).await?;
    ensure!(
        fs::read(back.join("large"))? == large,
        "large came back changed"
    );
    let text = |name: &str| fs::read_to_string(back.join(name));
    ensure!(text("deep/er/small")? == "small\n");
    ensure!(text("deep/new")? == "new\n");
    Ok(())
}

fn path(path: &Path) -> Result<&str> {
    path.to_str().context("a path that is no text")
}
