#![allow(clippy::unwrap_used)]

use agent_core::Time;
use agent_loops::Telling;
use serde_json::{Value, json};

use super::*;
use crate::node::testing::{FakeApi, NOW, settings};

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

struct Bench {
    api: FakeApi,
    book: NodeBook,
    holding: watch::Receiver<Holding>,
    telling: Telling,
    readiness: Readiness,
    _task: tokio::task::JoinSet<()>,
}

/// A keeper that runs, on top of `lease`.
fn bench(lease: Option<Value>) -> Bench {
    let (api, book) = (FakeApi::default(), NodeBook::new());
    if let Some(lease) = lease {
        api.put(LEASE, lease);
    }
    let telling = Telling::new(Clock::showing(NOW));
    let readiness = Readiness::default();
    let holding: Arc<watch::Sender<Holding>> = Arc::default();
    let around = (
        telling.clock,
        book.clone(),
        Troubles::new(telling.problems.clone()),
        readiness.clone(),
    );
    let identity = Identity::new("machine", "boot", Time(5));
    let receiver = holding.subscribe();
    let settings = Arc::new(settings());
    let keeper = LeaseKeeper::new(api.client(), settings, around, identity, holding);
    let mut task = tokio::task::JoinSet::new();
    task.spawn(keeper.run());
    Bench {
        api,
        book,
        holding: receiver,
        telling,
        readiness,
        _task: task,
    }
}

fn node(uid: &str) -> k8s_openapi::api::core::v1::Node {
    let mut node = k8s_openapi::api::core::v1::Node::default();
    node.metadata.uid = Some(uid.to_owned());
    node
}

async fn seconds(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_made_for_the_node_object_and_renewed_without_reading() {
    let mut bench = bench(None);
    bench
        .holding
        .wait_for(|holding| *holding == Holding::Ours)
        .await
        .unwrap();
    seconds(5).await;
    assert!(bench.api.object(LEASE).is_none(), "nobody could own it yet");
    bench.book.offer(node("uid-of-node"));
    seconds(1).await;
    let lease = bench.api.object(LEASE).unwrap();
    assert_eq!(
        lease["metadata"]["ownerReferences"][0]["uid"],
        "uid-of-node"
    );
    assert_eq!(lease["metadata"]["annotations"][HOLDER], "machine/boot/5");
    assert_eq!(lease["spec"]["holderIdentity"], "n1");
    assert_eq!(lease["spec"]["leaseDurationSeconds"], 40);
    bench.api.calls();
    seconds(31).await;
    let renewals = bench.api.calls();
    assert_eq!(renewals, vec![format!("PUT {LEASE}"); renewals.len()]);
    assert!(
        (2..=3).contains(&renewals.len()),
        "every 10 s and a little more: {renewals:?}"
    );
    let renewed = bench.api.object(LEASE).unwrap();
    assert_ne!(renewed["spec"]["renewTime"], lease["spec"]["renewTime"]);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_somebody_deleted_comes_back_with_the_new_owner() {
    let bench = bench(None);
    bench.book.offer(node("old"));
    seconds(1).await;
    bench.book.offer(node("new"));
    seconds(11).await;
    let lease = bench.api.object(LEASE).unwrap();
    let owners = lease["metadata"]["ownerReferences"].as_array().unwrap();
    assert_eq!(owners.len(), 1, "the deleted object owns nothing any more");
    assert_eq!(owners[0]["uid"], "new");
    bench.api.delete(LEASE);
    bench.api.calls();
    seconds(11).await;
    let calls = bench.api.calls();
    let expected = [
        format!("PUT {LEASE}"),
        format!("GET {LEASE}"),
        format!("POST {LEASES}"),
    ];
    assert_eq!(calls[..3], expected);
    assert!(bench.api.object(LEASE).is_some());
}

#[tokio::test(start_paused = true)]
async fn what_others_write_into_the_lease_stays() {
    let bench = bench(None);
    bench.book.offer(node("uid"));
    seconds(1).await;
    let mut lease = bench.api.object(LEASE).unwrap();
    lease["metadata"]["labels"] = json!({"mine": "kept"});
    bench.api.put(LEASE, lease);
    seconds(11).await;
    let lease = bench.api.object(LEASE).unwrap();
    assert_eq!(lease["metadata"]["labels"]["mine"], "kept");
    assert_ne!(lease["spec"]["renewTime"], json!(null));
}

#[tokio::test(start_paused = true)]
async fn another_agent_of_the_same_name_is_waited_for_and_named() {
    let renewed = |at: &str| {
        json!({
            "metadata": {"name": "n1", "annotations": {HOLDER: "other/boot/1"}},
            "spec": {"leaseDurationSeconds": 40, "renewTime": at},
        })
    };
    let mut bench = bench(Some(renewed("2026-01-01T00:00:00.000000Z")));
    bench.book.offer(node("uid"));
    seconds(1).await;
    let held = Holding::Others("other/boot/1".to_owned());
    assert_eq!(*bench.holding.borrow(), held);
    assert_eq!(
        bench.readiness.pending(),
        ["node name, which another agent has"]
    );
    let problems = bench.telling.problems.subscribe().borrow().clone();
    assert!(
        problems[&agent_loops::Area::Node][0]
            .message
            .contains("other/boot/1")
    );
    seconds(30).await;
    bench.api.put(LEASE, renewed("2026-01-01T00:00:30.000000Z"));
    seconds(30).await;
    assert_eq!(*bench.holding.borrow_and_update(), held, "it is alive");
    let calls = bench.api.calls();
    assert!(
        calls.iter().all(|call| call.starts_with("GET")),
        "{calls:?}"
    );
    seconds(30).await;
    assert_eq!(
        *bench.holding.borrow(),
        Holding::Ours,
        "it has not renewed for 40 s"
    );
    assert!(bench.readiness.pending().is_empty());
    assert!(bench.telling.problems.subscribe().borrow().is_empty());
    // It comes back and takes the name again: no fight.
    bench.api.put(LEASE, renewed("2026-01-01T00:10:00.000000Z"));
    seconds(11).await;
    assert_eq!(*bench.holding.borrow(), held);
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_is_away_is_tried_again() {
    let mut bench = bench(None);
    bench.book.offer(node("uid"));
    bench.api.refuse(Some(503));
    seconds(60).await;
    bench.api.refuse(None);
    seconds(8).await;
    assert_eq!(*bench.holding.borrow_and_update(), Holding::Ours);
    assert!(bench.api.object(LEASE).is_some());
}
