use http::StatusCode;

use crate::testing::{Authority, Client, Site};

/// A new authority counts on connections that stand, and a broken file changes nothing.
#[tokio::test]
async fn the_file_is_taken_over_when_it_changes() {
    let site = Site::start().await;
    let next = Authority::new();
    site.access.allow_all("admin");
    let mut old = site.client("admin", None).await;
    let shown = next.client("admin", None);
    let mut new = Client::connect(site.address, &site.authority, Some(&shown)).await;
    let both = async |old: &mut Client, new: &mut Client| {
        (old.get("/pods").await.status, new.get("/pods").await.status)
    };
    let (ok, no) = (StatusCode::OK, StatusCode::UNAUTHORIZED);
    assert_eq!(both(&mut old, &mut new).await, (ok, no));
    std::fs::write(&site.ca_file, "no certificate").unwrap();
    assert_eq!(both(&mut old, &mut new).await, (ok, no));
    std::fs::remove_file(&site.ca_file).unwrap();
    assert_eq!(both(&mut old, &mut new).await, (ok, no));
    std::fs::write(&site.ca_file, site.authority.pem() + &next.pem()).unwrap();
    assert_eq!(both(&mut old, &mut new).await, (ok, ok));
    let beside = site.folder.path().join("new");
    std::fs::write(&beside, next.pem()).unwrap();
    std::fs::rename(&beside, &site.ca_file).unwrap();
    assert_eq!(both(&mut old, &mut new).await, (no, ok));
}
