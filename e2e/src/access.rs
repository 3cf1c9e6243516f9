//! What a container may open, found out from inside it.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};

use crate::cri::Cri;

/// Major number of NVIDIA's device nodes.
const NVIDIA: u32 = 195;

/// The GPUs, by minor number below `count`, that a container may open. The container makes all nodes itself, so that
/// the answer comes from its device cgroup: without a driver ENXIO means yes and EPERM no.
///
/// # Errors
/// When an answer is neither of the two, or one is missing.
pub async fn openable(cri: &Cri, container: &str, count: u32) -> Result<BTreeSet<u32>> {
    let last = count.checked_sub(1).context("at least one GPU")?;
    let printed = cri
        .shell(
            container,
            &format!("devopen {NVIDIA} 0 {last} /tmp/devopen"),
        )
        .await?;
    let mut open = BTreeSet::new();
    let mut answers = 0;
    for line in printed.lines() {
        match line.split_once(' ') {
            Some((minor, "ENXIO" | "ok")) => drop(open.insert(minor.parse()?)),
            Some((_, "EPERM")) => {}
            _ => bail!("opening a device node gave neither ENXIO nor EPERM: {line}"),
        }
        answers += 1;
    }
    ensure!(
        answers == count,
        "{answers} answers for {count} device nodes"
    );
    Ok(open)
}
