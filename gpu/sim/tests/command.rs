//! `gpusim` as a command: exit codes, texts, device nodes, driver root, scripts.

#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used)]

#[macro_use]
mod client;

use std::fs;
use std::path::Path;
use std::process::Command;

use client::{gpusim, is_root, library};
use libloading::Library;

fn run(state: &Path, words: &[&str]) -> (Option<i32>, String, String) {
    let output = gpusim(state, words);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn every_line_says_that_it_is_simulated() {
    let dir = tempfile::tempdir().unwrap();
    for words in [
        &["profiles"][..],
        &["init", "--profile", "h200x8"],
        &["show"],
        &["xid", "0", "79"],
    ] {
        let (code, out, _) = run(dir.path(), words);
        assert_eq!(code, Some(0), "{words:?}");
        assert!(
            !out.is_empty() && out.lines().all(|line| line.starts_with("simulated: ")),
            "{out}"
        );
    }
    let (_, out, _) = run(dir.path(), &["show", "-o", "json"]);
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(document["simulated"], true);
    assert_eq!(document["gpus"][7]["name"], "NVIDIA H200");
}

#[test]
fn exit_codes_tell_usage_from_impossible() {
    let dir = tempfile::tempdir().unwrap();
    let (code, _, text) = run(dir.path(), &["show"]);
    assert_eq!(code, Some(1));
    assert!(
        text.contains("gpusim --state") && text.contains("init --profile"),
        "{text}"
    );
    assert_eq!(run(dir.path(), &["explode"]).0, Some(2));
    let (code, _, text) = run(dir.path(), &["init", "--profile", "h300"]);
    assert_eq!((code, text.contains("h200x8")), (Some(1), true));
    run(dir.path(), &["init", "--profile", "t4x1"]);
    for words in [
        &["fail", "nvmlDeviceGetNome", "--gpu", "0", "--code", "3"][..],
        &["lose", "1"],
        &["add"],
        &["process", "remove", "0", "7"],
        &["process", "add", "0", "--pid", "7", "--gi", "1"],
        &["set", "0", "nome", "x"],
    ] {
        let (code, out, text) = run(dir.path(), words);
        assert_eq!((code, out.as_str()), (Some(1), ""), "{words:?}");
        assert!(
            text.starts_with("gpusim: ") && text.lines().count() == 1,
            "{text}"
        );
    }
    let mut without = Command::new(env!("CARGO_BIN_EXE_gpusim"));
    let output = without
        .arg("show")
        .env_remove("GPUSIM_STATE")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn device_nodes_and_driver_root_come_with_the_machine() {
    if !is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (state, dev, root) = (
        dir.path().join("state"),
        dir.path().join("d"),
        dir.path().join("r"),
    );
    let library = library();
    let (code, _, text) = run(
        &state,
        &[
            "init",
            "--profile",
            "h200x8",
            "--dev-root",
            dev.to_str().unwrap(),
            "--driver-root",
            root.to_str().unwrap(),
            "--library",
            library.to_str().unwrap(),
        ],
    );
    assert_eq!(code, Some(0), "{text}");
    let opened = fs::File::open(dev.join("dev/nvidia0")).unwrap_err();
    assert_eq!(opened.raw_os_error(), Some(6), "no driver behind it: ENXIO");
    run(&state, &["remove", "0"]);
    assert!(!dev.join("dev/nvidia0").exists() && dev.join("dev/nvidia1").exists());
    run(&state, &["add", "0"]);
    assert!(dev.join("dev/nvidia0").exists());

    let libraries = root.join("usr/lib/x86_64-linux-gnu");
    assert_eq!(
        fs::read_link(libraries.join("libcuda.so.1")).unwrap(),
        Path::new("libcuda.so.580.95.05")
    );
    for name in [
        "libcuda.so.1",
        "libnvidia-ml.so.1",
        "libnvidia-ptxjitcompiler.so.580.95.05",
    ] {
        let path = libraries.join(name);
        // SAFETY: the made-up libraries have no code, the simulated one runs none when loaded.
        let loaded = unsafe { Library::new(path) };
        assert!(loaded.is_ok(), "{name}");
    }
    let minors = fs::read_to_string(root.join("proc/driver/nvidia-caps/mig-minors")).unwrap();
    assert!(minors.contains("gpu7/gi0/access 948\n"));
    let numa = root.join("sys/bus/pci/devices/0000:9d:00.0/numa_node");
    assert_eq!(fs::read_to_string(numa).unwrap(), "1\n");
    let smi = Command::new(root.join("usr/bin/nvidia-smi"))
        .output()
        .unwrap();
    assert!(String::from_utf8(smi.stdout).unwrap().contains("simulated"));
}

#[test]
fn a_script_runs_in_time_and_stops_at_the_first_mistake() {
    let dir = tempfile::tempdir().unwrap();
    run(dir.path(), &["init", "--profile", "h200x8"]);
    let script = dir.path().join("script");
    let path = script.to_str().unwrap();
    fs::write(
        &script,
        "xid 0 79\nat 50ms lose 0\nremove 1\nremove 1\nlose 2\n",
    )
    .unwrap();
    let (code, out, text) = run(dir.path(), &["run", path]);
    assert_eq!((code, out.lines().count()), (Some(1), 3), "{out}");
    assert!(text.contains("line 4"), "{text}");
    let (_, out, _) = run(dir.path(), &["show", "-o", "json"]);
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&document["gpus"][0]["lost"], &document["gpus"][2]["lost"]),
        (&true.into(), &false.into())
    );

    fs::write(&script, "lose 3\nnonsense\n").unwrap();
    let (code, out, _) = run(dir.path(), &["run", path]);
    assert_eq!(
        (code, out.as_str()),
        (Some(1), ""),
        "checked before anything runs"
    );
}
