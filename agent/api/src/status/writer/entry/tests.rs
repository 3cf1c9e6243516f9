use std::sync::Arc;

use agent_core::Life;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Entry;
use crate::pods::testing::pod;
use crate::status::NodeFacts;
use crate::status::testing::{at, snapshot};
use crate::status::writer::call::{Answer, Call};

fn version(version: &str, more: Value) -> k8s_openapi::api::core::v1::Pod {
    let mut changed = pod("a", more);
    changed.metadata.resource_version = Some(version.to_owned());
    changed
}

fn deleted() -> Value {
    json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
}

#[tokio::test(start_paused = true)]
async fn the_echo_of_a_write_repeats_no_deletion() {
    let mut entry = Entry::default();
    let mut done = snapshot("Succeeded");
    done.life = Life::Done;
    entry.snapshot = Some(Arc::new(done));
    assert!(entry.see(Some(Arc::new(version("1", deleted())))));
    let facts = NodeFacts::default();
    let write = entry.next(&facts, at(1)).unwrap();
    assert!(matches!(write, Call::Write { .. }), "{write:?}");
    let mut written = version("2", deleted());
    written.status.clone_from(&entry.earlier);
    entry.answered(&write, Answer::Written(Box::new(written.clone())));
    let delete = entry.next(&facts, at(1)).unwrap();
    assert!(matches!(delete, Call::Delete { .. }), "{delete:?}");
    entry.answered(&delete, Answer::Deleted);
    assert!(!entry.see(Some(Arc::new(written.clone()))), "it is known");
    assert!(entry.pauses(Instant::now()));
    entry.answered(&delete, Answer::Deleted);
    written.metadata.resource_version = Some("3".to_owned());
    written.metadata.deletion_grace_period_seconds = Some(0);
    assert!(
        !entry.see(Some(Arc::new(written.clone()))),
        "the deletion itself"
    );
    assert!(entry.pauses(Instant::now()));
    written.metadata.resource_version = Some("4".to_owned());
    assert!(entry.see(Some(Arc::new(written))), "that is news");
    assert!(!entry.pauses(Instant::now()));
}
