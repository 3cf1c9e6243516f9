//! A published Go module on this machine, through the ordinary `go` client and its cache.

use std::path::PathBuf;
use std::process::Command;

/// Folder of `module` (`path@version`), or why it cannot be had.
pub(crate) fn fetch(module: &str) -> Result<PathBuf, String> {
    // Outside any Go module, and with a limit: a proxy that does not answer must not hang the tests.
    let elsewhere = tempfile::tempdir().map_err(|error| error.to_string())?;
    let output = Command::new("timeout")
        .args(["120", "go", "mod", "download", "-json", module])
        .env("GOFLAGS", "-mod=mod")
        .current_dir(elsewhere.path())
        .output()
        .map_err(|error| format!("cannot run go: {error}"))?;
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    match answer["Dir"].as_str() {
        Some(folder) if output.status.success() => Ok(folder.into()),
        _ => {
            let said = answer["Error"].as_str().map(str::to_owned);
            let said = said.unwrap_or_else(|| String::from_utf8_lossy(&output.stderr).into_owned());
            Err(format!(
                "go mod download {module}: {} ({})",
                said.trim(),
                output.status
            ))
        }
    }
}
