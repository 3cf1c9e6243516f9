//! Which crate may depend on which.

use std::process::Command;

use serde_json::Value;

use crate::tree::root;

/// One declared dependency of one crate of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// Who.
    pub from: String,
    /// On whom.
    pub on: String,
    /// Only for its tests.
    pub for_tests: bool,
}

/// What each room may use of the workspace, beside itself. A room that is not listed may use nothing.
const ALLOWED: &[(&str, &[&str])] = &[
    ("agent-core", &[]),
    ("agent-loops", &["agent-core", "base-*"]),
    (
        "agent-cri",
        &["agent-core", "agent-loops", "base-*", "proto"],
    ),
    (
        "agent-api",
        &["agent-core", "agent-loops", "base-*", "proto"],
    ),
    (
        "agent-host",
        &["agent-core", "agent-loops", "base-*", "proto"],
    ),
    (
        "agent-http",
        &["agent-core", "agent-loops", "base-*", "proto"],
    ),
    ("agent-sim", &["agent-core", "agent-loops", "base-*"]),
    (
        "gpulet",
        &["agent-*", "gpu-*", "deviceplugin", "base-*", "proto"],
    ),
    ("gpu-model", &[]),
    ("gpu-cdi", &["gpu-model", "base-*"]),
    ("gpu-nvml", &["gpu-model"]),
    ("gpu-probe", &["gpu-model", "gpu-nvml", "base-*"]),
    (
        "gpu-keeper",
        &["gpu-model", "gpu-cdi", "gpu-probe", "base-*"],
    ),
    ("gpu-sim", &[]),
    (
        "deviceplugin",
        &["gpu-model", "gpu-cdi", "gpu-keeper", "base-*", "proto"],
    ),
    (
        "gpuctl",
        &["gpu-model", "gpu-cdi", "gpu-probe", "base-*", "proto"],
    ),
    ("proto", &[]),
    ("base-ledger", &[]),
    ("base-daemon", &[]),
    ("base-tidy", &[]),
    ("e2e", &["*"]),
];

/// Outside crates that the two studies must not know: async, gRPC, HTTP, Kubernetes, files, clocks.
const NOT_IN_STUDIES: &[&str] = &[
    "tokio",
    "futures",
    "tonic",
    "prost",
    "hyper",
    "axum",
    "http",
    "kube",
    "k8s-openapi",
    "rustix",
    "nix",
    "tempfile",
    "jiff",
    "chrono",
    "tracing",
    "libc",
];

/// Crates that must never be linked into what ships: they exist for tests.
const FOR_TESTS: &[&str] = &["agent-sim", "gpu-sim", "e2e", "base-tidy"];

/// Findings about dependencies that point the wrong way.
pub fn check_direction(dependencies: &[Dependency], crates: &[String]) -> Vec<String> {
    let mut findings = Vec::new();
    for dependency in dependencies
        .iter()
        .filter(|dependency| !dependency.for_tests)
    {
        let Dependency { from, on, .. } = dependency;
        if crates.contains(on) {
            let allowed = ALLOWED
                .iter()
                .find(|(room, _)| room == from)
                .map_or(&[][..], |(_, on)| on);
            if !allowed.iter().any(|pattern| matches(pattern, on)) {
                findings.push(format!(
                    "{from} must not use {on}: split the change, not the room"
                ));
            }
            if FOR_TESTS.contains(&on.as_str()) && from != "e2e" {
                findings.push(format!(
                    "{from} ships and must not use {on}, which is for tests"
                ));
            }
        } else if ["agent-core", "gpu-model"].contains(&from.as_str())
            && NOT_IN_STUDIES.contains(&on.as_str())
        {
            findings.push(format!(
                "{from} decides on plain data and must not use {on}"
            ));
        }
    }
    for name in crates {
        if !ALLOWED.iter().any(|(room, _)| room == name) {
            findings.push(format!(
                "{name} is a new room: say in base/tidy what it may use"
            ));
        }
    }
    findings
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => pattern == name,
    }
}

/// Dependencies and names of all crates of the workspace, as cargo sees them.
pub fn dependencies() -> Result<(Vec<Dependency>, Vec<String>), String> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ])
        .current_dir(root())
        .output()
        .map_err(|error| format!("cargo metadata cannot be run: {error}"))?;
    let metadata: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("cargo metadata printed no JSON: {error}"))?;
    let packages = metadata["packages"]
        .as_array()
        .ok_or("cargo metadata lists no packages")?;
    let mut found = Vec::new();
    let mut names = Vec::new();
    for package in packages {
        let from = package["name"].as_str().unwrap_or_default().to_owned();
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            found.push(Dependency {
                from: from.clone(),
                on: dependency["name"].as_str().unwrap_or_default().to_owned(),
                for_tests: dependency["kind"] == "dev",
            });
        }
        names.push(from);
    }
    Ok((found, names))
}
