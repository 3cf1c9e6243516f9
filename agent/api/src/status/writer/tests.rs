use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agent_core::{Life, PodName, PodUid};
use agent_loops::{Clock, PodBoard, PodSnapshot};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::{StatusInputs, write_statuses};
use crate::pods::testing::{FakeApi, pod, static_pod};
use crate::status::NodeFacts;
use crate::status::testing::{at, snapshot};

struct Writing {
    api: FakeApi,
    board: watch::Sender<Arc<PodBoard>>,
    node: watch::Sender<NodeFacts>,
    tasks: JoinSet<()>,
}

impl Writing {
    /// A writer over pods `a`, `b`, ... that the API has.
    fn start(names: &[&str]) -> Self {
        let api = FakeApi::new();
        for name in names {
            api.put(pod(name, json!({})));
        }
        let board = watch::Sender::new(Arc::default());
        let objects = watch::Sender::new(api.objects());
        let node = watch::Sender::new(NodeFacts {
            host_ips: vec!["192.168.0.1".parse().unwrap()],
            runtime: "containerd".to_owned(),
            ..NodeFacts::default()
        });
        let inputs = StatusInputs {
            board: board.subscribe(),
            objects: objects.subscribe(),
            node: node.subscribe(),
            clock: Clock::showing(at(1_000_000)),
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(write_statuses(api.client(), inputs));
        tasks.spawn(api.clone().show(objects));
        Self {
            api,
            board,
            node,
            tasks,
        }
    }

    /// Shows these pods in these phases, the others as before.
    fn show(&self, pods: &[(&str, PodSnapshot)]) {
        let mut board: PodBoard = (**self.board.borrow()).clone();
        for (name, snapshot) in pods {
            let mut snapshot = snapshot.clone();
            snapshot.uid = PodUid::new(format!("uid-{name}"));
            snapshot.name = PodName::new("default", name);
            board.insert(snapshot.uid.clone(), Arc::new(snapshot));
        }
        self.board.send_replace(Arc::new(board));
    }

    fn phase(&self, name: &str) -> String {
        let status = self.api.get(name).and_then(|pod| pod.status);
        status.and_then(|status| status.phase).unwrap_or_default()
    }

    async fn until(&self, name: &str, phase: &str) {
        let reached = async {
            while self.phase(name) != phase {
                sleep(Duration::from_millis(1)).await;
            }
        };
        let limit = Duration::from_secs(600);
        timeout(limit, reached)
            .await
            .unwrap_or_else(|_| panic!("{name} is {:?}", self.phase(name)));
    }

    fn calls(&self) -> usize {
        self.api.calls().len()
    }

    async fn quiet(&self) {
        let before = self.calls();
        sleep(Duration::from_secs(600)).await;
        assert_eq!(self.calls(), before, "{:?}", self.api.calls());
    }
}

fn done(phase: &str) -> PodSnapshot {
    PodSnapshot {
        life: Life::Done,
        ..snapshot(phase)
    }
}

const DELETED: &str = r#"{"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}}"#;

fn deleted() -> Value {
    serde_json::from_str(DELETED).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_status_is_written_once() {
    let writing = Writing::start(&["a", "b"]);
    writing.show(&[("a", snapshot("Running"))]);
    writing.until("a", "Running").await;
    writing.quiet().await;
    assert_eq!(writing.api.calls(), ["PATCH a"]);
    // Another pod is no news for this one.
    writing.show(&[("b", snapshot("Pending"))]);
    writing.until("b", "Pending").await;
    assert_eq!(writing.api.calls(), ["PATCH a", "PATCH b"]);
    assert_eq!(
        writing.api.patches()[0]["metadata"],
        json!({"uid": "uid-a"})
    );
}

#[tokio::test(start_paused = true)]
async fn steps_of_a_start_are_held_back_for_a_second_and_the_end_of_it_is_not() {
    let addressed = |ip: &str| {
        let mut pod = snapshot("Pending");
        pod.status.ips = vec![ip.to_owned()];
        pod
    };
    let writing = Writing::start(&["a"]);
    writing.show(&[("a", addressed("10.0.0.5"))]);
    writing.until("a", "Pending").await;
    writing.show(&[("a", addressed("10.0.0.6"))]);
    sleep(Duration::from_millis(900)).await;
    assert_eq!(writing.calls(), 1, "it may be running soon");
    sleep(Duration::from_millis(200)).await;
    assert_eq!(writing.calls(), 2, "it is not");
    writing.show(&[("a", addressed("10.0.0.7"))]);
    sleep(Duration::from_millis(10)).await;
    let begin = Instant::now();
    writing.show(&[("a", snapshot("Running"))]);
    writing.until("a", "Running").await;
    assert!(begin.elapsed() < Duration::from_millis(100));
    writing.quiet().await;
    assert_eq!(writing.calls(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_is_held_back_is_written_before_the_end() {
    let mut writing = Writing::start(&["a"]);
    writing.show(&[("a", snapshot("Pending"))]);
    writing.until("a", "Pending").await;
    let mut addressed = snapshot("Pending");
    addressed.status.ips = vec!["10.0.0.6".to_owned()];
    writing.show(&[("a", addressed)]);
    sleep(Duration::from_millis(10)).await;
    let begin = Instant::now();
    writing.board = watch::Sender::new(Arc::new(BTreeMap::new()));
    writing.tasks.join_next().await;
    assert!(begin.elapsed() < Duration::from_millis(100));
    assert_eq!(writing.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_somebody_overwrites_is_written_again_and_the_rest_left_alone() {
    let writing = Writing::start(&["a"]);
    writing.show(&[("a", snapshot("Running"))]);
    writing.until("a", "Running").await;
    let theirs =
        json!({"status": {"phase": "Pending", "conditions": [{"type": "x", "status": "True"}]}});
    writing.api.change("a", &theirs);
    writing.until("a", "Running").await;
    writing.quiet().await;
    assert_eq!(writing.calls(), 2);
    let conditions = writing
        .api
        .get("a")
        .unwrap()
        .status
        .unwrap()
        .conditions
        .unwrap();
    assert!(conditions.iter().any(|each| each.type_ == "x"));
    assert_eq!(
        writing.api.patches()[1]["status"],
        json!({"phase": "Running"})
    );
}

#[tokio::test(start_paused = true)]
async fn changes_during_a_call_become_one_call_with_the_newest() {
    let writing = Writing::start(&["a"]);
    writing.api.delay(Duration::from_secs(1));
    writing.show(&[("a", snapshot("Pending"))]);
    sleep(Duration::from_millis(10)).await;
    for at in 0..50 {
        let mut next = snapshot("Running");
        next.status.containers[0].restart_count = at;
        writing.show(&[("a", next)]);
        sleep(Duration::from_millis(10)).await;
    }
    writing.until("a", "Running").await;
    writing.quiet().await;
    assert_eq!(writing.calls(), 2);
    assert_eq!(writing.api.most(), 1, "never two calls about one pod");
    let status = writing.api.get("a").unwrap().status.unwrap();
    assert_eq!(status.container_statuses.unwrap()[0].restart_count, 49);
}

#[tokio::test(start_paused = true)]
async fn many_pods_are_written_side_by_side() {
    let names: Vec<String> = (0..400).map(|at| format!("p{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let writing = Writing::start(&names);
    writing.api.delay(Duration::from_millis(100));
    let began = Instant::now();
    let all: Vec<_> = names
        .iter()
        .map(|name| (*name, snapshot("Running")))
        .collect();
    writing.show(&all);
    for name in &names {
        writing.until(name, "Running").await;
    }
    // A server that takes 0.1 s for each: 160 a second.
    assert!(
        began.elapsed() < Duration::from_secs(3),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(writing.api.most(), 16);
    writing.quiet().await;
    assert_eq!(writing.calls(), 400);
}

#[tokio::test(start_paused = true)]
async fn one_pod_that_fails_hurts_no_other() {
    for code in [404, 409, 422, 403, 429, 500] {
        let writing = Writing::start(&["a", "b", "c"]);
        writing.api.fail("a", &[code; 3]);
        writing.show(&[
            ("a", snapshot("Running")),
            ("b", snapshot("Running")),
            ("c", snapshot("Running")),
        ]);
        let began = Instant::now();
        writing.until("b", "Running").await;
        writing.until("c", "Running").await;
        assert!(
            began.elapsed() < Duration::from_secs(3),
            "{code}: {:?}",
            began.elapsed()
        );
        writing.until("a", "Running").await;
        let limit = match code {
            // What is refused is not sent again and again.
            403 | 422 => Duration::from_secs(71),
            _ => Duration::from_secs(10),
        };
        assert!(began.elapsed() < limit, "{code}: {:?}", began.elapsed());
        writing.quiet().await;
        assert_eq!(writing.calls(), 6, "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_status_does_not_hold_back_the_next_one() {
    let writing = Writing::start(&["a"]);
    writing.api.fail("a", &[422]);
    writing.show(&[("a", snapshot("Pending"))]);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(writing.phase("a"), "");
    let began = Instant::now();
    writing.show(&[("a", snapshot("Running"))]);
    writing.until("a", "Running").await;
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn an_outage_loses_nothing_and_is_not_hammered() {
    let names: Vec<String> = (0..100).map(|at| format!("p{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let writing = Writing::start(&names);
    writing.api.away(true);
    let all =
        |phase: &str| -> Vec<_> { names.iter().map(|name| (*name, snapshot(phase))).collect() };
    writing.show(&all("Pending"));
    sleep(Duration::from_secs(1000)).await;
    writing.show(&all("Running"));
    sleep(Duration::from_secs(1000)).await;
    assert_eq!(writing.calls(), 0);
    // Sixteen at first, then one every five seconds.
    assert!(writing.api.vain() < 450, "{}", writing.api.vain());
    writing.api.away(false);
    let began = Instant::now();
    for name in &names {
        writing.until(name, "Running").await;
    }
    assert!(
        began.elapsed() < Duration::from_secs(6),
        "{:?}",
        began.elapsed()
    );
    writing.quiet().await;
    assert_eq!(writing.calls(), 100, "only the newest of each");
    let conditions = writing
        .api
        .get("p0")
        .unwrap()
        .status
        .unwrap()
        .conditions
        .unwrap();
    let ready = conditions
        .iter()
        .find(|each| each.type_ == "Ready")
        .unwrap();
    let since = ready.last_transition_time.as_ref().unwrap().0.as_second();
    assert!(
        (1_001_000..1_001_010).contains(&since),
        "{since}: when it came about, not when it was written"
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_without_an_answer_is_given_up_in_time() {
    let writing = Writing::start(&["a"]);
    writing.api.delay(Duration::from_secs(3600));
    writing.show(&[("a", snapshot("Running"))]);
    sleep(Duration::from_secs(5)).await;
    writing.api.delay(Duration::ZERO);
    let began = Instant::now();
    writing.until("a", "Running").await;
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn a_pod_goes_after_its_last_status_and_only_when_nothing_is_left() {
    let writing = Writing::start(&["a"]);
    writing.api.change("a", &deleted());
    let ending = PodSnapshot {
        life: Life::Cleaning,
        ..snapshot("Failed")
    };
    writing.show(&[("a", ending)]);
    writing.until("a", "Failed").await;
    writing.quiet().await;
    assert_eq!(writing.api.calls(), ["PATCH a"]);
    let mut last = done("Failed");
    last.status.sandbox_ready = true;
    writing.api.fail("a", &[500]);
    writing.show(&[("a", last)]);
    sleep(Duration::from_secs(20)).await;
    assert!(writing.api.get("a").is_none());
    assert_eq!(
        writing.api.calls(),
        ["PATCH a", "PATCH a", "PATCH a", "DELETE a"]
    );
    writing.quiet().await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_never_ran_gets_an_end_and_goes() {
    let writing = Writing::start(&["a"]);
    writing.api.change("a", &deleted());
    writing.show(&[("a", done("Pending"))]);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(writing.api.calls(), ["PATCH a", "DELETE a"]);
    assert_eq!(writing.api.patches()[0]["status"]["phase"], "Failed");
}

#[tokio::test(start_paused = true)]
async fn a_deletion_is_repeated_until_the_pod_is_gone() {
    for codes in [&[500, 429, 409, 404][..], &[403, 422]] {
        let writing = Writing::start(&["a"]);
        writing.show(&[("a", done("Failed"))]);
        writing.until("a", "Failed").await;
        writing.api.fail("a", codes);
        writing.api.change("a", &deleted());
        sleep(Duration::from_secs(60)).await;
        assert!(writing.api.get("a").is_none(), "{codes:?}");
        assert_eq!(writing.calls(), 2 + codes.len(), "{codes:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_server_does_not_keep_is_not_sent_without_end() {
    let writing = Writing::start(&["a"]);
    writing.api.drop_field("resources");
    writing.show(&[("a", snapshot("Running"))]);
    writing.until("a", "Running").await;
    sleep(Duration::from_secs(3600)).await;
    // Once with everything, then once every five minutes in the end.
    assert!(writing.calls() < 20, "{}", writing.calls());
    // It holds back no deletion.
    writing.show(&[("a", done("Failed"))]);
    writing.api.change("a", &deleted());
    sleep(Duration::from_secs(10)).await;
    assert!(writing.api.get("a").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_finalizer_is_waited_for_without_haste() {
    let writing = Writing::start(&["a"]);
    writing
        .api
        .change("a", &json!({"metadata": {"finalizers": ["example.com/x"]}}));
    writing.api.change("a", &deleted());
    writing.show(&[("a", done("Succeeded"))]);
    sleep(Duration::from_secs(600)).await;
    assert!(writing.calls() < 32, "{}", writing.calls());
    writing
        .api
        .change("a", &json!({"metadata": {"finalizers": null}}));
    sleep(Duration::from_secs(1)).await;
    assert!(writing.api.get("a").is_none());
}

#[tokio::test(start_paused = true)]
async fn pods_that_nobody_deletes_stay() {
    let writing = Writing::start(&["a", "b"]);
    writing.show(&[("a", done("Failed")), ("b", snapshot("Succeeded"))]);
    writing.until("a", "Failed").await;
    writing.until("b", "Succeeded").await;
    writing.quiet().await;
    assert_eq!(writing.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn another_pod_of_the_same_name_is_not_touched() {
    let writing = Writing::start(&["a"]);
    writing.api.remove("a");
    writing
        .api
        .put(pod("a", json!({"metadata": {"uid": "another"}})));
    writing.show(&[("a", done("Failed"))]);
    // One may be sent before the watch has told; it names the pod that it is for.
    sleep(Duration::from_secs(600)).await;
    assert!(writing.calls() <= 1, "{:?}", writing.api.calls());
    assert_eq!(writing.api.patches(), [Value::Null; 0]);
    assert_eq!(writing.api.get("a").unwrap().status, None);
}

#[tokio::test(start_paused = true)]
async fn the_status_of_a_static_pod_is_that_of_its_mirror() {
    let writing = Writing::start(&[]);
    let mut of_file = snapshot("Running");
    of_file.manifest = Some(Arc::new(static_pod("web", "h1")));
    writing.show(&[("web", of_file.clone())]);
    writing.quiet().await;
    let mirror = |hash: &str, uid: &str| {
        pod(
            "web",
            json!({"metadata": {"uid": uid, "annotations": {"kubernetes.io/config.mirror": hash}}}),
        )
    };
    writing.api.put(mirror("another", "m0"));
    writing.quiet().await;
    writing.api.put(mirror("h1", "m1"));
    writing.until("web", "Running").await;
    // The mirror is made anew.
    writing.api.remove("web");
    writing.api.put(mirror("h1", "m2"));
    writing.until("web", "Running").await;
    // And one that goes is left alone.
    writing.api.change("web", &deleted());
    of_file.life = Life::Done;
    writing.show(&[("web", of_file)]);
    writing.quiet().await;
    let uids: Vec<_> = writing
        .api
        .patches()
        .iter()
        .map(|patch| patch["metadata"]["uid"].clone())
        .collect();
    assert_eq!(uids, ["m1", "m2"]);
    assert_eq!(writing.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn new_facts_of_the_node_reach_every_pod() {
    let writing = Writing::start(&["a", "b"]);
    writing.show(&[("a", snapshot("Running")), ("b", snapshot("Running"))]);
    writing.until("b", "Running").await;
    writing
        .node
        .send_modify(|node| node.host_ips = vec!["192.168.0.2".parse().unwrap()]);
    sleep(Duration::from_secs(1)).await;
    for name in ["a", "b"] {
        let status = writing.api.get(name).unwrap().status.unwrap();
        assert_eq!(status.host_ip.as_deref(), Some("192.168.0.2"));
        assert_eq!(status.host_ips.unwrap().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn it_ends_with_the_board_after_what_is_due() {
    let mut writing = Writing::start(&["a"]);
    writing.api.delay(Duration::from_secs(1));
    writing.show(&[("a", snapshot("Running"))]);
    writing.board = watch::Sender::new(Arc::new(BTreeMap::new()));
    let end = timeout(Duration::from_secs(5), writing.tasks.join_next()).await;
    end.unwrap().unwrap().unwrap();
    assert_eq!(writing.phase("a"), "Running");
}
