//! What other parts have to know of the node, taken out of the Node object as it changes.

use std::collections::BTreeSet;
use std::sync::Arc;

use agent_api::{ApiPods, NodeAddress, NodeFacts, OfferFacts, ServingNames};
use agent_core::NodeOffer;
use agent_http::PodRenderer;
use agent_loops::{Clock, PodSnapshot, RuntimeWatch};
use base_daemon::spawn;
use k8s_openapi::api::core::v1::{Node, Pod};
use tokio::sync::watch;

/// The newest of each.
#[derive(Clone, Debug)]
pub(crate) struct Views {
    facts: watch::Receiver<NodeFacts>,
    names: watch::Receiver<ServingNames>,
    uid: watch::Receiver<Option<String>>,
    pods: watch::Receiver<Arc<ApiPods>>,
    clock: Clock,
}

impl Views {
    /// Follows the Node object and the runtime until nobody changes them any more.
    pub(crate) fn start(
        mut node: watch::Receiver<Option<Arc<Node>>>,
        mut runtime: watch::Receiver<RuntimeWatch>,
        pods: watch::Receiver<Arc<ApiPods>>,
        (offer, about): (watch::Sender<Option<Arc<NodeOffer>>>, OfferFacts),
        clock: Clock,
    ) -> Self {
        let (facts, see_facts) = watch::channel(NodeFacts::default());
        let (names, see_names) = watch::channel(ServingNames::default());
        let (uid, see_uid) = watch::channel(None);
        let follow = async move {
            loop {
                let seen = node.borrow_and_update().clone();
                let watched = runtime.borrow_and_update().clone();
                replace(&facts, node_facts(seen.as_deref(), &watched));
                if let Some(seen) = seen {
                    replace(&names, ServingNames::of(&addresses(&seen)));
                    replace(&uid, seen.metadata.uid.clone());
                    let newest = agent_api::offer(&seen, &about);
                    replace(&offer, Some(Arc::new(newest)));
                }
                // Cancelling either loses nothing: the newest value stays in its channel.
                let alive = tokio::select! {
                    changed = node.changed() => changed.is_ok(),
                    changed = runtime.changed() => changed.is_ok(),
                };
                if !alive {
                    return;
                }
            }
        };
        drop(spawn("views of the node", follow));
        Self {
            facts: see_facts,
            names: see_names,
            uid: see_uid,
            pods,
            clock,
        }
    }

    /// For statuses.
    pub(crate) fn facts(&self) -> watch::Receiver<NodeFacts> {
        self.facts.clone()
    }

    /// For the serving certificate.
    pub(crate) fn names(&self) -> watch::Receiver<ServingNames> {
        self.names.clone()
    }

    /// For the owner of mirror pods.
    pub(crate) fn node_uid(&self) -> watch::Receiver<Option<String>> {
        self.uid.clone()
    }
}

impl PodRenderer for Views {
    fn pod(&self, snapshot: &PodSnapshot) -> Option<Pod> {
        let pods = self.pods.borrow().clone();
        let manifest = snapshot.manifest.as_ref()?;
        let mut pod = Pod::clone(pods.pods.get(&snapshot.uid).unwrap_or(manifest));
        let facts = self.facts.borrow().clone();
        let status = agent_api::render(snapshot, &pod, None, &facts, self.clock.now());
        pod.status = Some(status);
        Some(pod)
    }
}

/// Waits until this node is known to the API server, for ever if it never is.
pub(super) async fn known(mut node: watch::Receiver<Option<Arc<Node>>>) {
    if node.wait_for(Option::is_some).await.is_err() {
        std::future::pending().await
    }
}

fn replace<T: PartialEq>(sender: &watch::Sender<T>, value: T) {
    sender.send_if_modified(|old| {
        let changed = *old != value;
        *old = value;
        changed
    });
}

fn addresses(node: &Node) -> Vec<NodeAddress> {
    let status = node.status.as_ref();
    let all = status.and_then(|status| status.addresses.as_ref());
    let address = |each: &k8s_openapi::api::core::v1::NodeAddress| NodeAddress {
        kind: each.type_.clone(),
        address: each.address.clone(),
    };
    all.into_iter().flatten().map(address).collect()
}

fn node_facts(node: Option<&Node>, watched: &RuntimeWatch) -> NodeFacts {
    let runtime = watched.facts.as_deref();
    let internal = node.map(addresses).unwrap_or_default();
    let internal = internal.iter().filter(|each| each.kind == "InternalIP");
    NodeFacts {
        host_ips: internal
            .filter_map(|each| each.address.parse().ok())
            .collect(),
        runtime: runtime.map_or_else(|| "containerd".to_owned(), |facts| facts.name.clone()),
        recursive_read_only: runtime.is_some_and(|facts| {
            let mut handlers = facts.handlers.iter();
            handlers.any(|each| each.name.is_empty() && each.recursive_read_only_mounts)
        }),
        unhealthy_devices: BTreeSet::new(),
    }
}
