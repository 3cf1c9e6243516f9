//! Starts the tasks of the node.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use agent_loops::ports::{Devices, Machine, MachineFacts, Runtime};
use agent_loops::{EventLog, RuntimeWatch, Subject, Telling};
use base_daemon::{DrainGuard, Panicked, Readiness};
use k8s_openapi::api::core::v1::Node;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use super::book::NodeBook;
use super::claim::Identity;
use super::follow::follow;
use super::gather::Gatherer;
use super::lease::{Holding, LeaseKeeper};
use super::settings::NodeSettings;
use super::status::{Report, StatusWriter};
use super::troubles::Troubles;

/// Pause before a task that panicked begins anew.
const AGAIN: Duration = Duration::from_secs(1);

/// What the node is told from.
#[derive(Clone)]
pub struct NodeInputs {
    /// The API server.
    pub client: Client,
    /// The runtime, for its conditions and images.
    pub runtime: Arc<dyn Runtime>,
    /// How the runtime is watched, and what it is.
    pub watch: watch::Receiver<RuntimeWatch>,
    /// Devices.
    pub devices: Arc<dyn Devices>,
    /// This host.
    pub machine: Arc<dyn Machine>,
}

impl std::fmt::Debug for NodeInputs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NodeInputs").finish_non_exhaustive()
    }
}

/// The tasks of the node. Dropping it ends them at once, as a crash would: the lease runs out by itself.
#[derive(Debug)]
pub struct RunningNode {
    /// The own Node object, whenever it changes. `None` until it is registered, while it is deleted,
    /// and as long as another agent has this node's name: who works for the API server waits for it.
    pub node: watch::Receiver<Option<Arc<Node>>>,
    task: JoinHandle<Result<(), Panicked>>,
}

impl Drop for RunningNode {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Starts them. They end when the drain of `guard` begins. While another agent has the node's name,
/// `readiness` and the board of problems say so.
pub fn start_node(
    inputs: NodeInputs,
    settings: NodeSettings,
    telling: &Telling,
    readiness: &Readiness,
    guard: DrainGuard,
) -> RunningNode {
    birth(&settings, &telling.events);
    let book = NodeBook::new();
    let node = book.subscribe();
    let parts = Parts {
        inputs,
        settings: Arc::new(settings),
        troubles: Troubles::new(telling.problems.clone()),
        telling: telling.clone(),
        readiness: readiness.clone(),
        book,
        holding: Arc::default(),
        started: Instant::now(),
    };
    let task = base_daemon::spawn("node", async move {
        // Both arms may be dropped anywhere: nothing of the node is kept outside of the API server.
        tokio::select! {
            () = root(parts) => {}
            () = guard.ending() => {}
        }
    });
    RunningNode { node, task }
}

/// What a start tells, in the stock kubelet's words.
fn birth(settings: &NodeSettings, events: &EventLog) {
    events.normal(Subject::Node, "Starting", "Starting kubelet.");
    if settings.cgroup_v1 {
        let message = "cgroup v1 detected. Kubernetes will remove its support in a future release; move this \
                       node to cgroup v2";
        events.warning(Subject::Node, "CgroupV1", message);
    }
    if settings.cgroups_enforced {
        let message = "Updated Node Allocatable limit across pods";
        events.normal(Subject::Node, "NodeAllocatableEnforced", message);
    }
}

#[derive(Clone)]
struct Parts {
    inputs: NodeInputs,
    settings: Arc<NodeSettings>,
    telling: Telling,
    troubles: Troubles,
    readiness: Readiness,
    book: NodeBook,
    holding: Arc<watch::Sender<Holding>>,
    started: Instant,
}

async fn root(parts: Parts) {
    // A node that knows nothing of its machine would only tell untruths.
    let machine = loop {
        match parts.inputs.machine.facts().await {
            Some(machine) => break machine,
            None => tokio::time::sleep(AGAIN).await,
        }
    };
    if machine.ephemeral_storage == Some(0) {
        let message = "invalid capacity 0 on image filesystem";
        let events = &parts.telling.events;
        events.warning(Subject::Node, "InvalidDiskCapacity", message);
    }
    let started = parts.telling.clock.now();
    let identity = Identity::new(&machine.machine_id, &machine.boot_id, started);
    let mut tasks = JoinSet::new();
    let events = parts.telling.events.clone();
    let of_lease = parts.clone();
    tasks.spawn(steady(events.clone(), "node lease", move || {
        of_lease.lease(identity.clone()).run()
    }));
    let of_status = parts.clone();
    tasks.spawn(steady(events.clone(), "node status", move || {
        of_status.status(machine.clone()).run()
    }));
    tasks.spawn(steady(events, "node watch", move || parts.clone().watch()));
    while tasks.join_next().await.is_some() {}
}

impl Parts {
    fn lease(&self, identity: Identity) -> LeaseKeeper {
        let around = (
            self.telling.clock,
            self.book.clone(),
            self.troubles.clone(),
            self.readiness.clone(),
        );
        let (client, settings) = (self.inputs.client.clone(), Arc::clone(&self.settings));
        LeaseKeeper::new(
            client,
            settings,
            around,
            identity,
            Arc::clone(&self.holding),
        )
    }

    /// `machine`: what is known of it already.
    fn status(&self, machine: MachineFacts) -> StatusWriter {
        let inputs = self.inputs.clone();
        StatusWriter {
            nodes: Api::all(inputs.client),
            settings: Arc::clone(&self.settings),
            book: self.book.clone(),
            devices: inputs.devices.resources(),
            gatherer: Gatherer::new(
                self.telling.clock,
                (inputs.machine, machine),
                inputs.runtime,
                inputs.watch,
                inputs.devices,
            ),
            holding: self.holding.subscribe(),
            events: self.telling.events.clone(),
            troubles: self.troubles.clone(),
            report: Report::default(),
            started: self.started,
        }
    }

    /// Follows the Node object while the name is ours. A node that registers itself is followed from
    /// then on: an answer from before that must not wipe out the object just made.
    async fn watch(self) {
        let mut holding = self.holding.subscribe();
        let mut node = self.book.subscribe();
        while holding
            .wait_for(|holding| *holding == Holding::Ours)
            .await
            .is_ok()
        {
            if self.settings.register && node.wait_for(Option::is_some).await.is_err() {
                return;
            }
            let client = self.inputs.client.clone();
            let following = follow(client, self.settings.name.clone(), self.book.clone());
            // Both arms may be dropped: the watch begins anew with a full look.
            tokio::select! {
                () = following => {}
                _ = holding.wait_for(|holding| *holding != Holding::Ours) => self.book.clear(),
            }
        }
    }
}

/// Runs a task; one that panics begins anew, which it can since what it knows is in the API server.
async fn steady<F>(events: EventLog, name: &'static str, make: impl Fn() -> F + Send)
where
    F: Future<Output = ()> + Send + 'static,
{
    loop {
        let mut task = JoinSet::new();
        task.spawn(make());
        match task.join_next().await {
            Some(Err(error)) if error.is_panic() => {
                tracing::error!(task = name, %error, "task panicked");
                let message = format!("a fault in this program stopped the {name}; it begins anew");
                events.warning(Subject::Node, "InternalError", message);
                tokio::time::sleep(AGAIN).await;
            }
            _ => return,
        }
    }
}
