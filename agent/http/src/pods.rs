//! Pods and containers by the names that requests use.

use std::sync::Arc;

use agent_core::{ContainerId, ContainerState, ContainerStatus};
use agent_loops::PodSnapshot;
use k8s_openapi::api::core::v1::Pod;

use crate::route::Target;
use crate::server::Server;

/// A pod that some source wants, with its manifest.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) snapshot: Arc<PodSnapshot>,
    manifest: Arc<Pod>,
}

impl Found {
    /// The newest of that name: one that is going may still be there.
    pub(crate) fn pod(server: &Server, target: Target<'_>) -> Option<Self> {
        let board = server.doors.pods.borrow();
        let named = board.values().filter(|pod| {
            *pod.name.namespace == *target.namespace && *pod.name.name == *target.pod
        });
        let wanted = named.filter_map(|pod| {
            let manifest = Arc::clone(pod.manifest.as_ref()?);
            Some(Self {
                snapshot: Arc::clone(pod),
                manifest,
            })
        });
        wanted.max_by_key(|pod| pod.snapshot.status.started_at)
    }

    /// Whether the pod is the one that a path with a UID means.
    pub(crate) fn is(&self, uid: Option<&str>) -> bool {
        uid.is_none_or(|uid| uid == self.snapshot.uid.as_str())
    }

    /// Whether the manifest has a container of that name, of any kind.
    pub(crate) fn has(&self, container: &str) -> bool {
        self.containers().any(|(name, _)| name == container)
    }

    /// The manifest gives the container a terminal.
    pub(crate) fn has_terminal(&self, container: &str) -> bool {
        self.containers()
            .any(|(name, tty)| name == container && tty)
    }

    /// Names, and whether there is a terminal.
    fn containers(&self) -> impl Iterator<Item = (&str, bool)> {
        let spec = self.manifest.spec.iter();
        spec.flat_map(|spec| {
            let init = spec.init_containers.iter().flatten();
            let main = init.chain(&spec.containers);
            let main = main.map(|each| (each.name.as_str(), each.tty));
            let ephemeral = spec.ephemeral_containers.iter().flatten();
            main.chain(ephemeral.map(|each| (each.name.as_str(), each.tty)))
        })
        .map(|(name, tty)| (name, tty.unwrap_or(false)))
    }

    /// The status of a container.
    pub(crate) fn status(&self, container: &str) -> Option<&ContainerStatus> {
        let status = &self.snapshot.status;
        let mut all = status
            .containers
            .iter()
            .chain(&status.init)
            .chain(&status.ephemeral);
        all.find(|each| each.name.as_str() == container)
    }

    /// The instance of a container that runs.
    pub(crate) fn running(&self, container: &str) -> Option<&ContainerId> {
        let status = self.status(container)?;
        let runs = matches!(status.state, ContainerState::Running { .. });
        status.id.as_ref().filter(|_| runs)
    }
}
