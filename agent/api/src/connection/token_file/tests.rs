#![allow(clippy::unwrap_used)]

use super::*;

#[tokio::test(start_paused = true)]
async fn it_is_read_again_after_a_minute_and_kept_when_it_vanishes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    let token = TokenFile::new(&file);
    assert!(token.authorization().await.is_err());
    std::fs::write(&file, "first\n").unwrap();
    assert_eq!(token.authorization().await.unwrap(), "Bearer first");
    std::fs::write(&file, "second\n").unwrap();
    assert_eq!(token.authorization().await.unwrap(), "Bearer first");
    tokio::time::advance(FRESH).await;
    assert_eq!(token.authorization().await.unwrap(), "Bearer second");
    std::fs::remove_file(&file).unwrap();
    tokio::time::advance(FRESH).await;
    assert_eq!(token.authorization().await.unwrap(), "Bearer second");
}

#[tokio::test]
async fn an_empty_file_is_told_and_nothing_of_a_bad_one_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    let token = TokenFile::new(&file);
    std::fs::write(&file, " \n").unwrap();
    let error = token.authorization().await.unwrap_err().to_string();
    assert!(error.contains("no token"), "{error}");
    std::fs::write(&file, "s3cret\u{7f}").unwrap();
    let error = token.authorization().await.unwrap_err().to_string();
    assert!(!error.contains("s3cret"), "{error}");
    assert!(!format!("{token:?}").contains("s3cret"));
}
