//! A person at a terminal: a shell in a container, and a debug container beside it.

use anyhow::{Context, Result, ensure};
use e2e::{BUSYBOX, Cluster, Terminal, until};

use super::{POD, TRANSPORTS, Transport};
use crate::scenarios::POD_LIMIT;

/// What the shell of the test image asks with.
const PROMPT: &str = "/ # ";
/// A shell line that finds the sleep that is typed, and not itself.
const SLEEPS: &str = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep 'sleep 123[4]'";

pub(super) async fn check(cluster: &Cluster) -> Result<()> {
    for transport in TRANSPORTS {
        shell(cluster, transport).await.context(transport.name)?;
        debug(cluster, transport).await.context(transport.name)?;
    }
    Ok(())
}

/// The terminal's size reaches the container; Ctrl-C ends what runs in it, and the shell's exit
/// code comes back.
async fn shell(cluster: &Cluster, transport: Transport) -> Result<()> {
    let arguments = ["exec", "-it", POD, "--", "/bin/sh"];
    let command = transport.kubectl(cluster).command(&arguments);
    let mut terminal = Terminal::start(&command, (31, 97))?;
    terminal.shows(PROMPT).await?;
    // The size is sent after the start, and the runtime may lose one that comes before the process is there; a change is
    // sent again. The quotes keep the typed line from being what is waited for.
    terminal
        .type_in("until [ \"$(stty size)\" = '40 120' ]; do sleep 0.1; done; echo f\"\"its\n")?;
    until("the terminal's size", POD_LIMIT, async || {
        terminal.resize((31, 97))?;
        terminal.resize((40, 120))?;
        ensure!(terminal.screen().contains("fits"), "not yet");
        Ok(())
    })
    .await?;

    terminal.type_in("sleep 1234\n")?;
    let cri = cluster.node.cri();
    let id = cri.running(POD, "main").await?.id;
    until("a long sleep", POD_LIMIT, async || {
        cri.shell(&id, SLEEPS).await.map(drop)
    })
    .await?;
    terminal.type_in("\u{3}")?;
    terminal.type_in("echo thr\"\"ee\n")?;
    terminal.shows("three").await?;
    cri.shell(&id, &format!("! {SLEEPS}"))
        .await
        .context("the sleep goes on")?;
    terminal.type_in("exit 7\n")?;
    let status = terminal.ended().await?;
    ensure!(status.code() == Some(7), "{status}: {}", terminal.screen());
    Ok(())
}

/// A container that is added to the pod sees the first one's processes and is attached to.
async fn debug(cluster: &Cluster, transport: Transport) -> Result<()> {
    let name = format!("--container=look-{}", transport.name);
    let image = format!("--image={BUSYBOX}");
    let arguments = [
        "debug",
        "-it",
        POD,
        &name,
        "--target=main",
        &image,
        "--profile=general",
        "--",
        "/bin/sh",
    ];
    let command = transport.kubectl(cluster).command(&arguments);
    let mut terminal = Terminal::start(&command, (31, 97))?;
    terminal.shows("try pressing enter").await?;
    terminal.type_in("\n")?;
    terminal.shows(PROMPT).await?;
    terminal.type_in("tr '\\0' ' ' < /proc/1/cmdline; echo o\"\"ne\n")?;
    terminal.shows("one").await?;
    let screen = terminal.screen();
    ensure!(screen.contains("trap 'exit 0' TERM"), "{screen}");
    terminal.type_in("exit 0\n")?;
    let status = terminal.ended().await?;
    ensure!(status.success(), "{status}: {}", terminal.screen());
    Ok(())
}
