#![allow(clippy::unwrap_used)]

use agent_loops::Subject;
use serde_json::Value;

use super::*;
use crate::node::testing::{FakeApi, NOW};

struct Bench {
    api: FakeApi,
    log: EventLog,
    _task: tokio::task::JoinSet<()>,
}

/// A sink that runs on top of what is in the log already.
fn bench(qps: i32, before: &[&str]) -> Bench {
    let (api, clock) = (FakeApi::default(), Clock::showing(NOW));
    let log = EventLog::new(clock);
    for message in before {
        log.normal(Subject::Node, "Test", *message);
    }
    let mut configuration = KubeletConfiguration::default();
    configuration.node.event_record_qps = qps;
    configuration.node.event_burst = 1;
    let settings = EventSettings::new(&configuration, "n1");
    let around = (watch::channel(None).1, watch::channel(Arc::default()).1);
    let sink = Sink::new(api.client(), settings, clock, around);
    let mut task = tokio::task::JoinSet::new();
    let own = log.clone();
    task.spawn(async move { sink.run(&own).await });
    Bench {
        api,
        log,
        _task: task,
    }
}

async fn wait(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}

fn texts(bodies: &[Value]) -> Vec<String> {
    let text = |body: &Value| format!("{} x{}", body["message"].as_str().unwrap(), body["count"]);
    bodies.iter().map(text).collect()
}

#[tokio::test(start_paused = true)]
async fn events_of_before_and_of_now_are_written_once() {
    let bench = bench(0, &["a", "b", "a"]);
    wait(10).await;
    assert_eq!(texts(&bench.api.bodies()), ["b x1", "a x2"]);
    bench.api.calls();
    bench.log.normal(Subject::Node, "Test", "a");
    wait(10).await;
    assert_eq!(texts(&bench.api.bodies()), ["a x3"]);
    let calls = bench.api.calls();
    assert!(
        calls[0].starts_with("PATCH /api/v1/namespaces/default/events/n1."),
        "{calls:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_event_that_ran_out_is_made_anew() {
    let bench = bench(0, &["a"]);
    wait(10).await;
    let made = bench.api.bodies().pop().unwrap();
    let name = made["metadata"]["name"].as_str().unwrap();
    bench
        .api
        .delete(&format!("/api/v1/namespaces/default/events/{name}"));
    bench.api.calls();
    bench.log.normal(Subject::Node, "Test", "a");
    wait(10).await;
    let calls = bench.api.calls();
    assert!(calls[1].starts_with("POST"), "{calls:?}");
    assert_eq!(bench.api.bodies().pop().unwrap()["count"], 2);
}

#[tokio::test(start_paused = true)]
async fn a_refused_event_holds_nothing_up_and_an_absent_server_is_waited_for() {
    let bench = bench(0, &[]);
    bench.api.refuse(Some(403));
    bench.log.normal(Subject::Node, "Test", "refused");
    wait(10).await;
    bench.api.refuse(Some(503));
    bench.log.normal(Subject::Node, "Test", "late");
    wait(30_000).await;
    bench.api.refuse(None);
    bench.api.bodies();
    wait(11_000).await;
    assert_eq!(texts(&bench.api.bodies()), ["late x1"]);
    bench.api.refuse(Some(503));
    bench.log.normal(Subject::Node, "Test", "lost");
    wait(121_000).await;
    bench.api.refuse(None);
    bench.api.bodies();
    bench.log.normal(Subject::Node, "Test", "next");
    wait(11_000).await;
    assert_eq!(
        texts(&bench.api.bodies()),
        ["next x1"],
        "twelve tries, and then it is lost"
    );
}

#[tokio::test(start_paused = true)]
async fn the_rate_is_kept() {
    let bench = bench(2, &["a", "b", "c"]);
    wait(10).await;
    assert_eq!(bench.api.bodies().len(), 1, "a burst of one");
    wait(500).await;
    assert_eq!(bench.api.bodies().len(), 1, "and two a second");
    wait(500).await;
    assert_eq!(bench.api.bodies().len(), 1);
}
