//! Each of the agent's own files cut in half and emptied, and a driver that tells nonsense: one message that names the
//! file, the damaged file set aside, running pods untouched, a new pod starts.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use e2e::{Node, Setup, full_name, staying, until};

use super::{GPUS, POD_LIMIT, gone, gpus_of, running};

/// Lines of the log about one damaged file: the event's and the problem's.
const MOST_LINES: usize = 2;

pub(super) async fn run() -> Result<()> {
    let mut node = Node::with_agent(Setup::with_gpus("h200x8")?).await?;
    for (name, gpus) in [("three", 3), ("cpu", 0)] {
        node.agent.apply(name, &staying(name, gpus))?;
        running(&node, name).await?;
    }
    let three = gpus_of(&node, "three").await?;
    let files = state_files(&node.agent.state())?;
    ensure!(!files.is_empty(), "the agent keeps no state at all");
    for file in files {
        for half in [true, false] {
            let how = format!(
                "{} {}",
                file.display(),
                if half { "cut in half" } else { "emptied" }
            );
            damaged(&mut node, &file, half, &three).await.context(how)?;
        }
    }
    nonsense(&node, &three)
        .await
        .context("a driver that tells nonsense")?;
    node.finish().await
}

/// The agent's files that hold state: everything but locks and what was set aside before.
fn state_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            files.extend(state_files(&entry.path())?);
        } else if entry.metadata()?.len() > 0 && !name.contains("lock") && !name.contains("damaged")
        {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

async fn damaged(node: &mut Node, file: &Path, half: bool, three: &BTreeSet<u32>) -> Result<()> {
    let mut before = node.cri().seen().await?;
    before.retain(|seen| seen.running);
    node.agent.kill();
    let content = fs::read(file)?;
    let rest = if half {
        &content[..content.len() / 2]
    } else {
        &[]
    };
    fs::write(file, rest)?;
    // Only the first damaged copy is kept, as evidence: make room for this one.
    let aside = PathBuf::from(format!("{}.damaged", file.display()));
    if aside.exists() {
        fs::remove_file(&aside)?;
    }
    let said_before = node.agent.log().len();
    node.start_agent().await?;

    let name = file
        .file_name()
        .context("a file name")?
        .to_string_lossy()
        .into_owned();
    let api = node.agent.api()?;
    until("the problem with the file", POD_LIMIT, async || {
        let problems = api.node().await?.problems;
        ensure!(
            problems.iter().any(|p| p.subject.contains(&name)),
            "{problems:?}"
        );
        Ok(())
    })
    .await?;
    let log = node.agent.log();
    let log = log.get(said_before..).unwrap_or_default();
    let lines = log
        .lines()
        .filter(|line| line.contains("WARN") || line.contains("ERROR"));
    let lines: Vec<_> = lines.filter(|line| line.contains(&name)).collect();
    ensure!(
        (1..=MOST_LINES).contains(&lines.len()),
        "lines of the log about it: {lines:#?}"
    );
    // Its exit code tells of other things as well.
    let status = node.agent.gpuctl(&["status"])?;
    let status = String::from_utf8_lossy(&status.stdout);
    ensure!(
        status.contains(&name),
        "gpuctl status does not show it: {status}"
    );
    ensure!(
        fs::read(&aside).is_ok_and(|kept| kept == rest),
        "the damaged file was not set aside"
    );

    node.agent.apply("new", &staying("new", GPUS - 3))?;
    running(node, "new").await?;
    let after = node.cri().seen().await?;
    ensure!(
        before.iter().all(|seen| after.contains(seen)),
        "{before:?} became {after:?}"
    );
    let new = gpus_of(node, "new").await?;
    ensure!(
        gpus_of(node, "three").await? == *three && new.is_disjoint(three),
        "{new:?} {three:?}"
    );
    node.agent.remove("new")?;
    gone(node, "new").await
}

/// Strings that are no text and counts that cannot be: the pods go on, the GPUs that make sense are still given out.
async fn nonsense(node: &Node, three: &BTreeSet<u32>) -> Result<()> {
    let gpus = node.gpus.as_ref().context("the node has GPUs")?;
    let odd = (0..GPUS)
        .find(|minor| !three.contains(minor))
        .context("a GPU that is free")?;
    let odd = odd.to_string();
    for (of, path, value) in [
        (odd.as_str(), "name", "\\x01\\xff\\x1b[31m"),
        (&odd, "serial", ""),
        (&odd, "memory.used", "18446744073709551615"),
        (&odd, "temperature.gpu", "-2147483648"),
        (&odd, "pci.address", "nowhere"),
        ("node", "device_count", "4000000000"),
        ("node", "driver_version", "not.a.version"),
    ] {
        gpus.gpusim(&["set", of, path, value])?;
    }
    node.agent.apply("odd", &staying("odd", 2))?;
    running(node, "odd").await?;
    ensure!(gpus_of(node, "odd").await?.is_disjoint(three));
    for table in [["list"], ["status"], ["health"], ["topo"]] {
        let output = node.agent.gpuctl(&table)?;
        let text = String::from_utf8_lossy(&output.stdout);
        ensure!(
            !text.contains('\u{1b}') && !text.contains('\u{1}'),
            "{table:?} passes on {text:?}"
        );
    }
    let seen = node.cri().running(&full_name("three"), "main").await;
    ensure!(seen.is_ok() && gpus_of(node, "three").await? == *three);
    Ok(())
}
