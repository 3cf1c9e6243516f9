#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use agent_core::Time;
use agent_loops::ports::{CredentialOrigin, Leave, ListedImage, PullCredential, PullEnd};

use super::file::file_name;
use super::{Policy, Records};

const IMAGE: &str = "example.com/app:1";

fn open(root: &Path) -> Records {
    Records::open(root, Policy::NeverVerifyPreloadedImages).unwrap()
}

fn secret(name: &str, hash: &str) -> PullCredential {
    PullCredential {
        origin: CredentialOrigin::Secret {
            uid: format!("uid-{name}"),
            namespace: "space".to_owned(),
            name: name.to_owned(),
        },
        hash: hash.to_owned(),
        ..Default::default()
    }
}

fn account(name: &str) -> PullCredential {
    PullCredential {
        origin: CredentialOrigin::ServiceAccount {
            uid: "uid".to_owned(),
            namespace: "space".to_owned(),
            name: name.to_owned(),
        },
        ..Default::default()
    }
}

fn pull(records: &Records, reference: &str, credential: Option<PullCredential>) {
    records.pulling(IMAGE, None).unwrap();
    let reference = reference.to_owned();
    let credential = credential.map(Box::new);
    records.pulled(
        IMAGE,
        &PullEnd::Pulled {
            reference,
            credential,
        },
    );
}

fn listed(id: &str, name: &str) -> ListedImage {
    ListedImage {
        id: id.to_owned(),
        names: vec![name.to_owned()],
        size: 1,
    }
}

fn intents(root: &Path) -> usize {
    fs::read_dir(root.join("image_manager/pulling"))
        .unwrap()
        .count()
}

#[test]
fn an_image_that_nobody_pulled_is_everybodys() {
    let root = tempfile::tempdir().unwrap();
    assert_eq!(open(root.path()).leave(IMAGE, "r1"), Leave::Everybody);
    for (policy, expected) in [
        (Policy::NeverVerify, Leave::Everybody),
        (Policy::AlwaysVerify, Leave::Nobody),
    ] {
        let records = Records::open(root.path(), policy).unwrap();
        assert_eq!(records.leave(IMAGE, "r1"), expected);
    }
}

#[test]
fn who_may_use_what_was_pulled() {
    let root = tempfile::tempdir().unwrap();
    let records = open(root.path());
    pull(&records, "open", None);
    pull(&records, "node", Some(PullCredential::default()));
    pull(&records, "secret", Some(secret("a", "h")));
    pull(&records, "account", Some(account("robot")));
    // A new process knows the same.
    for records in [&records, &open(root.path())] {
        assert_eq!(records.leave(IMAGE, "open"), Leave::Everybody);
        assert_eq!(records.leave(IMAGE, "node"), Leave::Everybody);
        assert_eq!(records.leave(IMAGE, "secret"), Leave::Holders);
        assert_eq!(records.leave("example.com/app:2", "secret"), Leave::Holders);
        assert_eq!(records.leave("other.example/app:1", "open"), Leave::Nobody);
        let may = |reference, credential| records.may_use(IMAGE, reference, &[credential]);
        assert!(may("secret", secret("a", "h")));
        assert!(!may("secret", secret("b", "g")));
        assert!(!may("secret", account("robot")));
        assert!(!may("secret", PullCredential::default()));
        assert!(may("account", account("robot")));
        assert!(!may("account", account("other")));
    }
    assert_eq!(intents(root.path()), 0);
}

#[test]
fn a_secret_counts_by_content_or_by_name_and_is_remembered() {
    for known in [secret("b", "h"), secret("a", "new")] {
        let root = tempfile::tempdir().unwrap();
        let records = open(root.path());
        pull(&records, "r", Some(secret("a", "h")));
        assert!(records.may_use(IMAGE, "r", std::slice::from_ref(&known)));
        let CredentialOrigin::Secret { name, .. } = &known.origin else {
            unreachable!()
        };
        // It now counts by itself: by its name with any content, by its content with any name.
        let again = open(root.path());
        assert!(again.may_use(IMAGE, "r", &[secret(name, "newer")]));
        assert!(records.may_use(IMAGE, "r", &[secret("z", &known.hash)]));
    }
}

#[test]
fn from_a_hundred_secrets_on_only_content_counts() {
    let root = tempfile::tempdir().unwrap();
    let records = open(root.path());
    for number in 0..100 {
        pull(
            &records,
            "r",
            Some(secret(&format!("s{number}"), &format!("h{number}"))),
        );
    }
    assert!(records.may_use(IMAGE, "r", &[secret("s5", "h5")]));
    assert!(records.may_use(IMAGE, "r", &[secret("other", "h5")]));
    assert!(!records.may_use(IMAGE, "r", &[secret("other", "h-other")]));
    assert!(!records.may_use(IMAGE, "r", &[secret("s5", "changed")]));
}

#[test]
fn a_pull_that_fails_takes_no_image_away() {
    let root = tempfile::tempdir().unwrap();
    let records = open(root.path());
    records.pulling(IMAGE, Some("old")).unwrap();
    assert_eq!(
        records.leave(IMAGE, "old"),
        Leave::Everybody,
        "while it runs"
    );
    assert_eq!(
        records.leave(IMAGE, "new"),
        Leave::Nobody,
        "what it may have brought"
    );
    // The process dies, and the next one finds both files.
    let next = open(root.path());
    assert!(next.leftovers());
    assert_eq!(next.leave(IMAGE, "old"), Leave::Everybody);
    assert_eq!(next.leave(IMAGE, "new"), Leave::Nobody);
    next.settle(&[listed("old", IMAGE)]);
    assert_eq!(next.leave(IMAGE, "old"), Leave::Everybody);
    assert!(!next.leftovers());
    assert_eq!(intents(root.path()), 0);
    records.pulled(IMAGE, &PullEnd::Failed);
    assert_eq!(records.leave(IMAGE, "old"), Leave::Everybody, "after it");
}

#[test]
fn what_a_lost_pull_brought_needs_credentials() {
    for image in [IMAGE, "busybox"] {
        let full = if image == IMAGE {
            IMAGE
        } else {
            "docker.io/library/busybox:latest"
        };
        let root = tempfile::tempdir().unwrap();
        open(root.path()).pulling(image, Some("old")).unwrap();
        let next = open(root.path());
        next.settle(&[listed("new", full), listed("x", "example.com/x:1")]);
        assert_eq!(next.leave(image, "new"), Leave::Nobody);
        // Also under a name that never was pulled.
        assert_eq!(next.leave("example.com/app@sha256:1", "new"), Leave::Nobody);
        assert_eq!(next.leave("example.com/x:1", "x"), Leave::Everybody);
        assert_eq!(intents(root.path()), 0);
    }
    // It brought nothing: somebody may load the image by hand.
    let root = tempfile::tempdir().unwrap();
    open(root.path()).pulling(IMAGE, None).unwrap();
    let next = open(root.path());
    next.settle(&[]);
    assert_eq!(next.leave(IMAGE, "by hand"), Leave::Everybody);
}

#[test]
fn a_pull_that_was_given_up_is_not_forgotten_by_one_that_fails() {
    let root = tempfile::tempdir().unwrap();
    let records = open(root.path());
    for end in [PullEnd::Unknown, PullEnd::Failed] {
        records.pulling(IMAGE, None).unwrap();
        records.pulled(IMAGE, &end);
        assert_eq!(records.leave(IMAGE, "new"), Leave::Nobody, "{end:?}");
    }
    pull(&records, "new", Some(secret("a", "h")));
    assert_eq!(records.leave(IMAGE, "new"), Leave::Holders);
    assert_eq!(intents(root.path()), 0);
}

#[test]
fn two_pulls_of_one_image_end_apart() {
    let root = tempfile::tempdir().unwrap();
    let records = open(root.path());
    records.pulling(IMAGE, None).unwrap();
    records.pulling(IMAGE, None).unwrap();
    records.pulled(IMAGE, &PullEnd::Failed);
    assert_eq!(records.leave(IMAGE, "r"), Leave::Nobody);
    records.pulled(IMAGE, &PullEnd::Failed);
    assert_eq!(records.leave(IMAGE, "r"), Leave::Everybody);
}

#[test]
fn a_record_that_cannot_be_read_opens_nothing() {
    let root = tempfile::tempdir().unwrap();
    pull(&open(root.path()), "r", None);
    let file = root
        .path()
        .join("image_manager/pulled")
        .join(file_name("r"));
    fs::write(file, "torn").unwrap();
    let records = open(root.path());
    assert_eq!(records.leave(IMAGE, "r"), Leave::Nobody);
    pull(&records, "r", None);
    assert_eq!(records.leave(IMAGE, "r"), Leave::Everybody);
}

#[test]
fn records_go_with_their_images() {
    let root = tempfile::tempdir().unwrap();
    let records = open(root.path());
    pull(&records, "there", None);
    pull(&records, "gone", None);
    let present = BTreeSet::from(["there".to_owned()]);
    records.prune(&present, Time(0));
    assert_eq!(
        records.leave("x", "gone"),
        Leave::Nobody,
        "newer than the look"
    );
    records.prune(&present, Time(i64::MAX));
    assert_eq!(records.leave("x", "gone"), Leave::Everybody);
    assert_eq!(records.leave("x", "there"), Leave::Nobody);
}
