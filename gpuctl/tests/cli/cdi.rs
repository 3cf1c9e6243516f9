//! CDI folders.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::program::{Ran, alone};

fn document(host_path: &Path) -> String {
    format!(
        r#"{{"cdiVersion": "0.5.0", "kind": "vendor.example/gpu",
            "devices": [{{"name": "gpu0", "containerEdits": {{"deviceNodes": [{{"path": "/dev/null"}}]}}}}],
            "containerEdits": {{"mounts": [{{"hostPath": {host_path:?}, "containerPath": "/x"}}]}}}}"#
    )
}

async fn run(what: &str, folder: &TempDir, more: &[&str]) -> Ran {
    let folder = folder.path().to_str().unwrap();
    alone([&["cdi", what, "--cdi-dir", folder][..], more].concat()).await
}

#[tokio::test]
async fn a_document_that_is_right_is_ok() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.json"), document(folder.path())).unwrap();
    let ran = run("validate", &folder, &[]).await;
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    assert!(ran.stdout.starts_with("ok     "), "{}", ran.stdout);
    let shown = run("show", &folder, &["-o", "json"]).await;
    assert_eq!(shown.code, 0);
    let file = &shown.json()["files"][0];
    assert_eq!(
        (&file["kind"], &file["error"]),
        (&"vendor.example/gpu".into(), &().into())
    );
    assert_eq!(file["devices"][0]["deviceNodes"][0], "/dev/null");
    assert_eq!(file["common"]["mounts"][0], "/x");
}

#[tokio::test]
async fn a_host_path_that_is_missing_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("libcuda.so.1");
    fs::write(folder.path().join("a.json"), document(&missing)).unwrap();
    let ran = run("validate", &folder, &["-o", "json"]).await;
    assert_eq!(ran.code, 1, "{ran:?}");
    let problem = ran.json()["files"][0]["problems"][0]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(problem.contains(missing.to_str().unwrap()), "{problem}");
}

#[tokio::test]
async fn a_torn_document_hides_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let whole = document(folder.path());
    fs::write(folder.path().join("a.json"), &whole[..whole.len() / 2]).unwrap();
    fs::write(folder.path().join("b.json"), &whole).unwrap();
    assert_eq!(run("validate", &folder, &[]).await.code, 1);
    let shown = run("show", &folder, &[]).await;
    assert_eq!(shown.code, 4, "{shown:?}");
    assert!(
        shown.stdout.contains("is no CDI document"),
        "{}",
        shown.stdout
    );
    assert!(shown.stdout.contains("gpu0"), "{}", shown.stdout);
}

#[tokio::test]
async fn a_folder_that_was_named_has_to_exist() {
    let ran = alone(["cdi", "validate", "--cdi-dir", "/nonexistent/cdi"]).await;
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("/nonexistent/cdi"), "{}", ran.stderr);
    let folder = tempfile::tempdir().unwrap();
    let empty = run("validate", &folder, &[]).await;
    assert_eq!(empty.code, 0);
    assert!(
        empty.stdout.starts_with("no CDI documents in "),
        "{}",
        empty.stdout
    );
}
