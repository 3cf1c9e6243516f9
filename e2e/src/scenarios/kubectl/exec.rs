//! Commands in a container: their outputs, their input to the last byte, and their exit codes.

use anyhow::{Context, Result, ensure};
use e2e::{Cluster, Kubectl};

use super::{POD, TRANSPORTS};

/// More than any buffer on the way.
const LARGE: usize = 3_000_000;

pub(super) async fn check(cluster: &Cluster) -> Result<()> {
    for transport in TRANSPORTS {
        let kubectl = transport.kubectl(cluster);
        let outcome = async {
            tells(&kubectl).await?;
            reads(&kubectl).await?;
            refuses(&kubectl).await
        };
        outcome.await.context(transport.name)?;
    }
    Ok(())
}

async fn tells(kubectl: &Kubectl) -> Result<()> {
    let line = "echo out; echo err >&2; exit 7";
    let output = kubectl
        .output(
            &["exec", POD, "-c", "main", "--", "/bin/sh", "-c", line],
            "",
        )
        .await?;
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    ensure!(output.status.code() == Some(7), "{}: {err}", output.status);
    ensure!(
        out == "out\n" && err.starts_with("err\n"),
        "{out:?} {err:?}"
    );
    let count = LARGE.to_string();
    let zeros = kubectl
        .run(&["exec", POD, "--", "head", "-c", &count, "/dev/zero"])
        .await?;
    ensure!(zeros.len() == LARGE, "{} of {LARGE} bytes", zeros.len());
    Ok(())
}

/// The command ends only when its input does.
async fn reads(kubectl: &Kubectl) -> Result<()> {
    let input = "0123456789abcde\n".repeat(LARGE / 16);
    let said = kubectl
        .with_input(&["exec", "-i", POD, "--", "wc", "-c"], &input)
        .await?;
    ensure!(said.trim() == input.len().to_string(), "wc says {said}");
    let back = kubectl
        .with_input(&["exec", "-i", POD, "--", "cat"], &input)
        .await?;
    ensure!(back == input, "{} bytes came back, or others", back.len());
    Ok(())
}

async fn refuses(kubectl: &Kubectl) -> Result<()> {
    let output = kubectl
        .output(&["exec", POD, "--", "/no/such/program"], "")
        .await?;
    let said = text(&output.stderr);
    ensure!(!output.status.success(), "it succeeded: {said}");
    ensure!(said.contains("/no/such/program"), "it says {said}");
    Ok(())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
