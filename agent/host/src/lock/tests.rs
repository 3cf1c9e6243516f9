#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::net::UnixListener;

use super::{LockError, RootLock};

#[tokio::test]
async fn the_second_one_is_told_who_has_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    let first = RootLock::take(&root).await.unwrap();
    let error = RootLock::take(&root).await.unwrap_err();
    let expected = format!(
        "another gpulet runs on {} (process {}); stop it, or give this one another --root-dir",
        root.display(),
        std::process::id()
    );
    assert_eq!(error.to_string(), expected);
    drop(first);
    RootLock::take(&root).await.unwrap();
}

#[tokio::test]
async fn a_stock_kubelet_is_known_by_its_socket() {
    for socket in ["pod-resources", "device-plugins"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(socket).join("kubelet.sock");
        fs::create_dir(path.parent().unwrap()).unwrap();
        let listener = UnixListener::bind(&path).unwrap();
        match RootLock::take(folder.path()).await {
            Err(LockError::Kubelet { socket, pid, .. }) => {
                let own = i32::try_from(std::process::id()).unwrap();
                assert_eq!((socket, pid), (path.clone(), Some(own)));
            }
            other => panic!("{other:?}"),
        }
        // A socket that a dead kubelet left behind is no obstacle.
        drop(listener);
        assert!(path.exists());
        RootLock::take(folder.path()).await.unwrap();
    }
}

#[tokio::test]
async fn a_kubelet_that_hangs_still_has_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pod-resources/kubelet.sock");
    fs::create_dir(path.parent().unwrap()).unwrap();
    let listener = UnixListener::bind(&path).unwrap();
    rustix_backlog_full(&path).await;
    assert!(matches!(
        RootLock::take(folder.path()).await,
        Err(LockError::Kubelet { .. })
    ));
    drop(listener);
}

/// Connects until the listener's queue is full.
async fn rustix_backlog_full(path: &std::path::Path) {
    let mut held = Vec::new();
    for _ in 0..10_000 {
        match tokio::net::UnixStream::connect(path).await {
            Ok(stream) => held.push(stream),
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
                // They stay in the queue as long as nobody accepts them.
                std::mem::forget(held);
                return;
            }
        }
    }
    panic!("the queue is never full");
}

#[tokio::test]
async fn a_folder_that_cannot_be_used_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = RootLock::take(&file).await.unwrap_err();
    assert!(error.to_string().starts_with("lock file "), "{error}");
}
