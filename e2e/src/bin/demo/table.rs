//! What the demo prints: gpuctl's own tables, and who may open what.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use e2e::{Node, full_name, openable};

use crate::machine::Machine;

/// Runs gpuctl and shows it as it would be typed.
pub(crate) fn ask(node: &Node, arguments: &[&str]) -> Result<()> {
    println!("\n$ gpuctl {}", arguments.join(" "));
    print!("{}", node.agent.gpuctl_text(arguments)?);
    Ok(())
}

/// Lets every container make and open every GPU's device node, and shows the answers.
///
/// # Errors
/// When a container may open more or fewer than it asked for, or two may open the same.
pub(crate) async fn opened(node: &Node, pods: &[String], sizes: &[u32], count: u32) -> Result<()> {
    println!("\nEvery container makes the device nodes of all GPUs and tries to open each:");
    let header: String = (0..count).map(|minor| format!("{minor:>6}")).collect();
    println!("{:<10}{header}", "GPU");
    let mut taken = BTreeSet::new();
    for (pod, size) in pods.iter().zip(sizes) {
        let id = node.cri().running(&full_name(pod), "main").await?.id;
        let open = openable(node.cri(), &id, count).await?;
        let cell = |minor| if open.contains(&minor) { "own" } else { "no" };
        let row: String = (0..count)
            .map(|minor| format!("{:>6}", cell(minor)))
            .collect();
        println!("{pod:<10}{row}");
        ensure!(
            open.len() == *size as usize,
            "{pod} asked for {size} and may open {open:?}"
        );
        ensure!(
            taken.is_disjoint(&open),
            "{pod} shares a GPU: {open:?}, others have {taken:?}"
        );
        taken.extend(open);
    }
    println!(
        "own: the kernel lets it through (ENXIO where no driver is behind the node); no: EPERM. \
         No GPU is open to two of them."
    );
    Ok(())
}

/// How to go on by hand.
pub(crate) fn how_to_look(node: &Node, machine: &Machine) -> Result<()> {
    let socket = node.agent.socket();
    let gpuctl = node.bed().gpuctl()?;
    let (gpuctl, socket) = (gpuctl.display(), socket.display());
    println!(
        "\nIt all stays up (DEMO_KEEP). Look around:\n\
         \n  alias gpuctl='{gpuctl} --socket {socket}'\
         \n  gpuctl status; gpuctl list; gpuctl pods; gpuctl topo; gpuctl events\
         \n\nAdd and remove pods: files in {}",
        node.agent.manifests().display()
    );
    if let (Machine::Simulated, Some(gpus)) = (machine, &node.gpus) {
        println!(
            "Break a GPU:         {} --state {} --help",
            node.bed().simulator()?.join("bin/gpusim").display(),
            gpus.state().display()
        );
    }
    println!("End it:              make demo-stop");
    Ok(())
}
