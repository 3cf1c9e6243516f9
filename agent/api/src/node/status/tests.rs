#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use agent_core::{
    ContainerId, Fail, ImageName, Observation, PodName, PodUid, ResourceName, SandboxId, Time,
};
use agent_loops::ports::{
    ContainerSpec, DeviceAsk, DeviceGrant, DeviceRefusal, Devices, ExecOutput, ImageFacts,
    ListedImage, LivingDevices, Machine, MachineFacts, PullCredential, ResourceCount, Runtime,
    RuntimeCondition, RuntimeConditions, RuntimeEvent, RuntimeFacts, SandboxSpec,
};
use agent_loops::{Clock, RuntimeWatch, Telling, WatchMode};
use async_trait::async_trait;
use futures::stream::BoxStream;
use serde_json::Value;

use super::*;
use crate::node::testing::{self, FakeApi, NOW};

const NODE: &str = "/api/v1/nodes/n1";

/// A machine, its devices and its runtime. The network is ready when it says so.
#[derive(Debug, Default)]
struct World {
    network: watch::Sender<bool>,
    devices: watch::Sender<Option<Counts>>,
}

#[async_trait]
impl Machine for World {
    async fn facts(&self) -> Option<MachineFacts> {
        Some(testing::machine())
    }
}

#[async_trait]
impl Devices for World {
    async fn hold(
        &self,
        _: &PodUid,
        _: &PodName,
        _: &[DeviceAsk],
    ) -> Result<Vec<DeviceGrant>, DeviceRefusal> {
        Ok(Vec::new())
    }
    async fn adopt(&self, _: Vec<LivingDevices>) {}
    async fn release(&self, _: &PodUid) {}
    async fn holders(&self) -> BTreeSet<PodUid> {
        BTreeSet::new()
    }
    fn changes(&self) -> watch::Receiver<u64> {
        watch::channel(0).1
    }
    fn resources(&self) -> watch::Receiver<Option<Counts>> {
        self.devices.subscribe()
    }
}

/// Nothing but the node's questions is ever asked.
fn unasked<T>() -> Result<T, Fail> {
    Err(Fail::permanent("Unasked", "a node asks for no pods"))
}

#[async_trait]
impl Runtime for World {
    async fn facts(&self) -> Result<RuntimeFacts, Fail> {
        Ok(testing::runtime())
    }
    async fn conditions(&self) -> Result<RuntimeConditions, Fail> {
        let condition = |status| RuntimeCondition {
            status,
            ..RuntimeCondition::default()
        };
        Ok(RuntimeConditions {
            runtime: Some(condition(true)),
            network: Some(condition(*self.network.borrow())),
        })
    }
    async fn run_sandbox(&self, _: &SandboxSpec) -> Result<SandboxId, Fail> {
        unasked()
    }
    async fn stop_sandbox(&self, _: &SandboxId) -> Result<(), Fail> {
        unasked()
    }
    async fn remove_sandbox(&self, _: &SandboxId) -> Result<(), Fail> {
        unasked()
    }
    async fn create_container(&self, _: &ContainerSpec) -> Result<ContainerId, Fail> {
        unasked()
    }
    async fn start_container(&self, _: &ContainerId) -> Result<(), Fail> {
        unasked()
    }
    async fn stop_container(&self, _: &ContainerId, _: Duration) -> Result<(), Fail> {
        unasked()
    }
    async fn remove_container(&self, _: &ContainerId) -> Result<(), Fail> {
        unasked()
    }
    async fn image(&self, _: &ImageName) -> Result<Option<ImageFacts>, Fail> {
        unasked()
    }
    async fn images(&self) -> Result<Vec<ListedImage>, Fail> {
        Ok(Vec::new())
    }
    async fn pull(&self, _: &ImageName, _: Option<&PullCredential>) -> Result<ImageFacts, Fail> {
        unasked()
    }
    async fn exec(&self, _: &ContainerId, _: &[String], _: Duration) -> Result<ExecOutput, Fail> {
        unasked()
    }
    async fn reopen_log(&self, _: &ContainerId) -> Result<(), Fail> {
        unasked()
    }
    async fn list(&self) -> Result<Vec<Observation>, Fail> {
        unasked()
    }
    async fn observe(&self, _: &PodUid) -> Result<Observation, Fail> {
        unasked()
    }
    async fn events(&self) -> Result<BoxStream<'static, Result<RuntimeEvent, Fail>>, Fail> {
        unasked()
    }
}

struct Bench {
    api: FakeApi,
    world: Arc<World>,
    book: NodeBook,
    holding: watch::Sender<Holding>,
    telling: Telling,
    watch: watch::Sender<RuntimeWatch>,
    _task: tokio::task::JoinSet<()>,
}

fn bench(ready: bool) -> Bench {
    let (api, book) = (FakeApi::default(), NodeBook::new());
    let world = Arc::new(World::default());
    world.network.send_replace(ready);
    let telling = Telling::new(Clock::showing(NOW));
    let watch = watch::Sender::new(RuntimeWatch {
        mode: WatchMode::Events,
        listed_at: Some(Time(i64::MAX)),
        facts: Some(Arc::new(testing::runtime())),
    });
    let holding = watch::Sender::new(Holding::Ours);
    let writer = StatusWriter {
        nodes: Api::all(api.client()),
        settings: Arc::new(testing::settings()),
        book: book.clone(),
        devices: world.resources(),
        gatherer: Gatherer::new(
            telling.clock,
            (Arc::clone(&world) as _, MachineFacts::default()),
            Arc::clone(&world) as _,
            watch.subscribe(),
            Arc::clone(&world) as _,
        ),
        holding: holding.subscribe(),
        events: telling.events.clone(),
        troubles: Troubles::new(telling.problems.clone()),
        report: Report::default(),
        started: Instant::now(),
    };
    let mut task = tokio::task::JoinSet::new();
    task.spawn(writer.run());
    Bench {
        api,
        world,
        book,
        holding,
        telling,
        watch,
        _task: task,
    }
}

impl Bench {
    fn node(&self) -> Value {
        self.api.object(NODE).unwrap()
    }

    fn ready(&self) -> Value {
        self.node()["status"]["conditions"][3]["status"].clone()
    }

    fn told(&self, reason: &str) -> usize {
        let kept = self.telling.events.subscribe().0;
        kept.iter().filter(|event| event.reason == reason).count()
    }
}

async fn wait(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_ready_node_is_made_ready_and_then_left_alone() {
    let bench = bench(true);
    wait(100).await;
    assert_eq!(bench.ready(), "True");
    assert_eq!(bench.told("NodeReady"), 1);
    assert_eq!(bench.api.calls(), ["POST /api/v1/nodes"]);
    wait(140_000).await;
    assert_eq!(
        bench.api.calls(),
        [""; 0],
        "nothing changed, and 2.5 minutes are not over"
    );
    wait(320_000).await;
    assert_eq!(
        bench.api.calls(),
        [format!("PATCH {NODE}/status")],
        "the first report is due by then"
    );
    let body = bench.api.bodies().pop().unwrap();
    let conditions = body["status"]["conditions"].as_array().unwrap();
    assert_eq!(conditions.len(), 4);
    assert_eq!(
        body["status"].as_object().unwrap().len(),
        2,
        "heartbeats and nothing else"
    );
}

#[tokio::test(start_paused = true)]
async fn becoming_ready_is_written_at_once() {
    let bench = bench(false);
    wait(6_000).await;
    assert_eq!(
        bench.ready(),
        "False",
        "registered after the time that a runtime gets to start"
    );
    assert_eq!(bench.told("NodeNotReady"), 0);
    bench.api.calls();
    wait(3_000).await;
    assert_eq!(
        bench.api.calls(),
        [""; 0],
        "looking costs the API server nothing"
    );
    bench.world.network.send_replace(true);
    wait(300).await;
    assert_eq!(bench.ready(), "True");
    assert_eq!(bench.told("NodeReady"), 1);
}

#[tokio::test(start_paused = true)]
async fn devices_are_written_at_once() {
    let bench = bench(true);
    wait(1_000).await;
    let count = ResourceCount {
        capacity: 2,
        allocatable: 1,
    };
    let counts = BTreeMap::from([(ResourceName::new("nvidia.com/gpu"), count)]);
    bench.world.devices.send_replace(Some(Arc::new(counts)));
    wait(10).await;
    let node = bench.node();
    assert_eq!(node["status"]["capacity"]["nvidia.com/gpu"], "2");
    assert_eq!(node["status"]["allocatable"]["nvidia.com/gpu"], "1");
}

#[tokio::test(start_paused = true)]
async fn a_listing_changes_nothing_that_is_shown() {
    let bench = bench(true);
    wait(1_000).await;
    bench
        .watch
        .send_modify(|watch| watch.listed_at = Some(NOW.plus(Duration::from_secs(9_999))));
    bench.api.calls();
    wait(5_000).await;
    assert_eq!(bench.api.calls(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_node_comes_back() {
    let bench = bench(true);
    wait(1_000).await;
    let before = bench.node()["metadata"]["uid"].clone();
    // Seen by the watch.
    bench.api.delete(NODE);
    bench.book.clear();
    wait(200).await;
    let second = bench.node()["metadata"]["uid"].clone();
    assert_ne!(second, before);
    // Seen by the next write only.
    bench.api.delete(NODE);
    bench.world.network.send_replace(false);
    wait(11_000).await;
    assert_ne!(bench.node()["metadata"]["uid"], second);
}

#[tokio::test(start_paused = true)]
async fn a_name_that_another_agent_has_is_left_alone() {
    let bench = bench(true);
    bench
        .holding
        .send_replace(Holding::Others("other".to_owned()));
    wait(60_000).await;
    assert_eq!(bench.api.calls(), [""; 0]);
    bench.holding.send_replace(Holding::Ours);
    wait(100).await;
    assert_eq!(bench.ready(), "True");
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_is_away_is_a_problem_until_it_is_back() {
    let bench = bench(true);
    bench.api.refuse(Some(503));
    wait(30_000).await;
    let problems = bench.telling.problems.subscribe();
    let told = problems.borrow()[&agent_loops::Area::Node][0]
        .message
        .clone();
    assert!(told.contains("cannot be registered"), "{told}");
    bench.api.refuse(None);
    wait(8_000).await;
    assert_eq!(bench.ready(), "True");
    assert!(problems.borrow().is_empty());
    bench.api.refuse(Some(503));
    bench.world.network.send_replace(false);
    wait(11_000).await;
    let told = problems.borrow()[&agent_loops::Area::Node][0]
        .message
        .clone();
    assert!(told.contains("cannot be written"), "{told}");
    bench.api.refuse(None);
    wait(11_000).await;
    assert_eq!(bench.ready(), "False");
    assert_eq!(bench.told("NodeNotReady"), 1);
}
