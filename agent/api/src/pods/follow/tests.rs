use std::sync::Arc;
use std::time::Duration;

use agent_loops::ports::SourceSnapshot;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::follow_pods;
use crate::pods::ApiPods;
use crate::pods::testing::{FakeApi, pod};

struct Follower {
    snapshots: watch::Receiver<Option<SourceSnapshot>>,
    objects: watch::Receiver<Arc<ApiPods>>,
    _task: JoinSet<()>,
}

impl Follower {
    fn start(api: &FakeApi) -> Self {
        let (sender, snapshots) = watch::channel(None);
        let (object_sender, objects) = watch::channel(Arc::default());
        let mut task = JoinSet::new();
        task.spawn(follow_pods(
            api.client(),
            "node".to_owned(),
            sender,
            object_sender,
        ));
        Self {
            snapshots,
            objects,
            _task: task,
        }
    }

    async fn until(&mut self, expected: &[&str]) -> SourceSnapshot {
        let names = |snapshot: &SourceSnapshot| -> Vec<String> {
            let pods = snapshot.pods.iter();
            pods.map(|pod| pod.want.name.name.to_string()).collect()
        };
        let arrived = self.snapshots.wait_for(|snapshot| {
            snapshot
                .as_ref()
                .is_some_and(|snapshot| names(snapshot) == expected)
        });
        let snapshot = timeout(Duration::from_secs(600), arrived).await;
        let snapshot = snapshot.unwrap_or_else(|_| panic!("no {expected:?}"));
        snapshot.unwrap().clone().unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_said_before_the_list_and_nothing_is_lost_while_the_server_is_away() {
    let api = FakeApi::new();
    api.away(true);
    api.put(pod("a", json!({})));
    let mut follower = Follower::start(&api);
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert!(follower.snapshots.borrow().is_none());
    api.away(false);
    let first = follower.until(&["a"]).await;
    api.away(true);
    api.put(pod("b", json!({})));
    tokio::time::sleep(Duration::from_secs(300)).await;
    api.away(false);
    let back = Instant::now();
    let second = follower.until(&["a", "b"]).await;
    let late = back.elapsed();
    assert!(late < Duration::from_secs(6), "after {late:?}");
    assert!(Arc::ptr_eq(&first.pods[0].want, &second.pods[0].want));
    assert!(Arc::ptr_eq(
        &first.pods[0].manifest,
        &second.pods[0].manifest
    ));
}

#[tokio::test(start_paused = true)]
async fn a_node_without_pods_reports_too() {
    let mut follower = Follower::start(&FakeApi::new());
    follower.until(&[]).await;
    assert!(follower.objects.borrow().listed);
}

#[tokio::test(start_paused = true)]
async fn a_lost_history_is_read_again_and_tells_who_is_gone() {
    let api = FakeApi::new();
    for name in ["a", "b", "c"] {
        api.put(pod(name, json!({})));
    }
    let mut follower = Follower::start(&api);
    let first = follower.until(&["a", "b", "c"]).await;
    // No event is left to tell of it.
    api.remove("b");
    api.compact();
    let second = follower.until(&["a", "c"]).await;
    assert!(Arc::ptr_eq(&first.pods[2].want, &second.pods[1].want));
    // And the watch goes on, also where the server refuses to begin it at the old place.
    for code in [410, 504, 500, 403] {
        api.fail("watch", &[code]);
        api.put(pod("d", json!({})));
        follower.until(&["a", "c", "d"]).await;
        api.remove("d");
        follower.until(&["a", "c"]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_status_reaches_the_objects_and_not_the_loops() {
    let api = FakeApi::new();
    api.put(pod("a", json!({})));
    let mut follower = Follower::start(&api);
    follower.until(&["a"]).await;
    follower.snapshots.mark_unchanged();
    api.change(
        "a",
        &json!({"status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}}),
    );
    let running = |objects: &Arc<ApiPods>| {
        let mut pods = objects.pods.values();
        pods.any(|pod| {
            pod.status
                .as_ref()
                .is_some_and(|status| status.phase.as_deref() == Some("Running"))
        })
    };
    let seen = timeout(Duration::from_secs(60), follower.objects.wait_for(running)).await;
    seen.unwrap().unwrap();
    assert!(!follower.snapshots.has_changed().unwrap());
}

#[tokio::test(start_paused = true)]
async fn it_ends_when_nobody_listens() {
    let (sender, snapshots) = watch::channel(None);
    let (objects, _) = watch::channel(Arc::default());
    drop(snapshots);
    let end = follow_pods(FakeApi::new().client(), "node".to_owned(), sender, objects);
    timeout(Duration::from_secs(1), end).await.unwrap();
}
