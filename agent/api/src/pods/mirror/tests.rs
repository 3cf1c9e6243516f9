use std::sync::Arc;
use std::time::Duration;

use agent_loops::PodBoard;
use agent_loops::ports::{SourceSnapshot, WantedPod};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::{MirrorInputs, keep_mirrors};
use crate::pods::testing::{FakeApi, static_pod};

/// Static pods with this hash, or none.
fn source(hash: Option<&str>) -> Option<SourceSnapshot> {
    let wanted = |hash: &str| {
        let pod = static_pod("web", hash);
        WantedPod {
            want: Arc::new(crate::manifest::from_api(&pod).unwrap()),
            manifest: Arc::new(pod),
        }
    };
    Some(SourceSnapshot {
        pods: hash.map(wanted).into_iter().collect(),
        problems: Vec::new(),
    })
}

struct Mirrors {
    api: FakeApi,
    statics: watch::Sender<Option<SourceSnapshot>>,
    node: watch::Sender<Option<String>>,
    board: watch::Sender<Arc<PodBoard>>,
    tasks: JoinSet<()>,
}

impl Mirrors {
    fn start(hash: Option<&str>) -> Self {
        let api = FakeApi::new();
        let statics = watch::Sender::new(source(hash));
        let node = watch::Sender::new(Some("node-uid".to_owned()));
        let board = watch::Sender::new(Arc::default());
        let objects = watch::Sender::new(Arc::default());
        let inputs = MirrorInputs {
            statics: vec![statics.subscribe()],
            board: board.subscribe(),
            objects: objects.subscribe(),
            node_uid: node.subscribe(),
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(keep_mirrors(api.client(), "node".to_owned(), inputs));
        tasks.spawn(api.clone().show(objects));
        Self {
            api,
            statics,
            node,
            board,
            tasks,
        }
    }

    async fn settle(&self) {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }

    fn hash(&self) -> Option<String> {
        let annotations = self.api.get("web")?.metadata.annotations?;
        annotations.get("kubernetes.io/config.mirror").cloned()
    }
}

#[tokio::test(start_paused = true)]
async fn a_mirror_comes_back_follows_its_pod_and_goes_with_it() {
    let mirrors = Mirrors::start(Some("h1"));
    mirrors.settle().await;
    assert_eq!(mirrors.hash().as_deref(), Some("h1"));
    // Deleted at once by somebody.
    mirrors.api.remove("web");
    mirrors.settle().await;
    assert_eq!(mirrors.hash().as_deref(), Some("h1"));
    // Deleted with a grace period.
    mirrors.api.change(
        "web",
        &json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
    );
    mirrors.settle().await;
    let deleted = mirrors.api.get("web").unwrap().metadata.deletion_timestamp;
    assert_eq!((mirrors.hash().as_deref(), deleted), (Some("h1"), None));
    // Another content.
    mirrors.statics.send_replace(source(Some("h2")));
    mirrors.settle().await;
    assert_eq!(mirrors.hash().as_deref(), Some("h2"));
    mirrors.statics.send_replace(source(None));
    mirrors.settle().await;
    assert_eq!(mirrors.hash(), None);
    let calls = mirrors.api.calls().len();
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(mirrors.api.calls().len(), calls, "nothing is left to do");
}

#[tokio::test(start_paused = true)]
async fn failures_are_repeated_with_growing_pauses() {
    let mirrors = Mirrors::start(None);
    mirrors.api.fail("web", &[500; 6]);
    mirrors.statics.send_replace(source(Some("h1")));
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(
        mirrors.api.calls().len(),
        5,
        "after 0, 0.5, 1.5, 3.5 and 7.5 s"
    );
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(mirrors.hash().as_deref(), Some("h1"));
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_taken_stays_taken_until_it_is_free() {
    let mirrors = Mirrors::start(None);
    mirrors.api.put(crate::pods::testing::pod("web", json!({})));
    mirrors.statics.send_replace(source(Some("h1")));
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(mirrors.hash(), None);
    assert!(mirrors.api.calls().len() < 12, "{:?}", mirrors.api.calls());
    mirrors.api.remove("web");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(mirrors.hash().as_deref(), Some("h1"));
}

#[tokio::test(start_paused = true)]
async fn mirrors_wait_for_the_node() {
    let mirrors = Mirrors::start(None);
    mirrors.node.send_replace(None);
    mirrors.statics.send_replace(source(Some("h1")));
    mirrors.settle().await;
    assert_eq!(mirrors.hash(), None);
    mirrors.node.send_replace(Some("node-uid".to_owned()));
    mirrors.settle().await;
    assert_eq!(mirrors.hash().as_deref(), Some("h1"));
}

#[tokio::test(start_paused = true)]
async fn it_ends_with_the_board() {
    let mut mirrors = Mirrors::start(Some("h1"));
    drop(mirrors.board);
    mirrors.tasks.join_next().await.unwrap().unwrap();
}
