//! What needs neither agent nor driver.

use std::path::Path;
use std::process::Stdio;

use crate::program::{alone, finish, gpuctl};

#[tokio::test]
async fn help_tells_examples_and_exit_codes() {
    let help = alone(["--help"]).await;
    assert_eq!(help.code, 0);
    for text in [
        "Examples:",
        "Exit codes:",
        "GPULET_SOCKET",
        "--no-color",
        "explain",
        "topo",
    ] {
        assert!(help.stdout.contains(text), "{text}: {}", help.stdout);
    }
    assert!(!help.stdout.contains("nvml-probe"), "nobody types that");
}

#[tokio::test]
async fn help_fits_80_columns() {
    for command in [
        "",
        "status",
        "list",
        "describe",
        "describe gpu",
        "pods",
        "top",
        "explain pod",
        "health",
        "xid",
        "xid explain",
        "events",
        "cdi",
        "cdi validate",
    ] {
        let help = alone(command.split_whitespace().chain(["--help"])).await;
        let long = help.stdout.lines().find(|line| line.chars().count() > 80);
        assert_eq!((help.code, long), (0, None), "{command}");
    }
}

#[tokio::test]
async fn a_wrong_command_line_is_code_2() {
    for arguments in [
        &["nonsense"][..],
        &["describe", "gpu"],
        &["describe"],
        &["xid", "explain", "seventy-nine"],
        &["list", "--output", "xml"],
        &["list", "surplus"],
    ] {
        let ran = alone(arguments).await;
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (2, ""),
            "{arguments:?}: {ran:?}"
        );
        assert!(
            ran.stderr.contains("--help"),
            "{arguments:?}: {}",
            ran.stderr
        );
    }
}

#[tokio::test]
async fn an_xid_is_explained() {
    let ran = alone(["xid", "explain", "79"]).await;
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(
        ran.stdout.contains("fallen off the PCI bus"),
        "{}",
        ran.stdout
    );
    let unknown = alone(["xid", "explain", "4711"]).await;
    assert_eq!(unknown.code, 1);
    assert!(
        unknown.stderr.contains("gpuctl xid list"),
        "{}",
        unknown.stderr
    );
    let list = alone(["xid", "list", "-o", "json"]).await.json();
    assert!(
        list["xids"]
            .as_array()
            .unwrap()
            .iter()
            .any(|xid| xid["firstCode"] == 79)
    );
}

/// `gpuctl xid list | head -1`
#[tokio::test]
async fn a_reader_that_leaves_is_no_error() {
    let mut command = gpuctl(Path::new("/nonexistent"));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    command
        .args(["xid", "list"])
        .stdout(Stdio::from(writer))
        .stderr(Stdio::piped());
    let output = command.spawn().unwrap().wait_with_output().await.unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[tokio::test]
async fn colour_is_for_terminals() {
    let on_a_terminal = async |environment: &[(&str, &str)], flags: &str| {
        let program = env!("CARGO_BIN_EXE_gpuctl");
        let mut script = tokio::process::Command::new("script");
        script.args([
            "-qec",
            &format!("{program} {flags} xid explain 79"),
            "/dev/null",
        ]);
        script
            .envs(environment.iter().copied())
            .stdin(Stdio::null());
        finish(script.env_remove("COLUMNS")).await.stdout
    };
    assert!(
        on_a_terminal(&[("NO_COLOR", "")], "")
            .await
            .contains("\x1b[")
    );
    assert!(
        !on_a_terminal(&[("NO_COLOR", "1")], "")
            .await
            .contains("\x1b[")
    );
    assert!(!on_a_terminal(&[], "--no-color").await.contains("\x1b["));
    assert!(!on_a_terminal(&[], "-o json").await.contains("\x1b["));
}

#[tokio::test]
async fn started_by_hand_the_child_says_that_it_is_not_for_that() {
    let ran = finish(gpuctl(Path::new("/nonexistent")).arg("nvml-probe")).await;
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("of no use by hand"), "{}", ran.stderr);
}
