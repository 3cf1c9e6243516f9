//! What an action is given: a copy of the little it needs, so that the pod task can go on deciding.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent_core::{
    ContainerHave, ContainerName, ContainerWant, Fail, Hook, PodName, PodUid, SandboxHave,
};

use crate::around::Around;
use crate::events::Subject;
use crate::ports::{DeviceGrant, ImageFacts, LogOwner, PreparedPod, References, WantedPod};

/// The pod and the things an action works with.
#[derive(Clone, Debug)]
pub(in crate::pod) struct Job {
    pub(in crate::pod) around: Arc<Around>,
    pub(in crate::pod) uid: PodUid,
    pub(in crate::pod) name: PodName,
    /// `None` for a stranger.
    pub(in crate::pod) want: Option<WantedPod>,
    /// What earlier actions have brought.
    pub(in crate::pod) kit: Kit,
    /// Sandbox acted on or in; the newest when the action names none.
    pub(in crate::pod) sandbox: Option<SandboxHave>,
    /// Container instance acted on.
    pub(in crate::pod) instance: Option<ContainerHave>,
}

/// Results of actions that later ones need. It lives as long as the memory that says they are there;
/// what is missing all the same is made again, which is repeatable.
#[derive(Clone, Debug, Default)]
pub(in crate::pod) struct Kit {
    pub(in crate::pod) prepared: Option<Arc<PreparedPod>>,
    pub(in crate::pod) grants: Option<Arc<Vec<DeviceGrant>>>,
    pub(in crate::pod) images: BTreeMap<ContainerName, ContainerImages>,
}

/// The images that a container is made from.
#[derive(Clone, Debug)]
pub(in crate::pod) struct ContainerImages {
    /// The one it runs.
    pub(in crate::pod) own: ImageFacts,
    /// References of those that it mounts, by volume.
    pub(in crate::pod) volumes: BTreeMap<String, String>,
}

impl Job {
    /// The manifest, for actions that only make sense with one.
    pub(super) fn want(&self) -> Result<&WantedPod, Fail> {
        self.want
            .as_ref()
            .ok_or_else(|| Fail::permanent("ManifestMissing", "no source wants this pod"))
    }

    /// One container of the manifest.
    pub(super) fn container(&self, name: &ContainerName) -> Result<&ContainerWant, Fail> {
        let want = &self.want()?.want;
        want.init
            .iter()
            .chain(&want.containers)
            .chain(&want.ephemeral)
            .find(|each| each.name == *name)
            .ok_or_else(|| {
                Fail::permanent(
                    "ContainerMissing",
                    format!("the manifest has no container {name}"),
                )
            })
    }

    /// The pod as the subject of an event.
    pub(super) fn pod(&self) -> Subject {
        Subject::Pod {
            uid: self.uid.clone(),
            name: self.name.clone(),
        }
    }

    /// One of its containers as the subject of an event.
    pub(super) fn about(&self, container: &ContainerName) -> Subject {
        let (uid, name) = (self.uid.clone(), self.name.clone());
        Subject::Container {
            uid,
            name,
            container: container.clone(),
        }
    }

    /// Records a failure as an event and hands it on.
    pub(super) fn told(
        &self,
        subject: Subject,
        reason: &'static str,
        text: &str,
        fail: Fail,
    ) -> Fail {
        self.around
            .events
            .warning(subject, reason, format!("{text}: {}", fail.message));
        fail
    }

    /// Addresses of the pod, primary first; the node's for a pod on the host network.
    pub(in crate::pod) fn ips(&self) -> Vec<String> {
        let Some(sandbox) = &self.sandbox else {
            return Vec::new();
        };
        // The manifest says it earlier than the runtime does.
        let wants_host = self
            .want
            .as_ref()
            .is_some_and(|want| want.want.host_network);
        match &sandbox.network {
            Some(network) if network.host => self.around.node_ips(),
            Some(network) => network.ips.clone(),
            None if wants_host => self.around.node_ips(),
            None => Vec::new(),
        }
    }

    /// Primary address, empty when there is none.
    pub(in crate::pod) fn ip(&self) -> String {
        self.ips().into_iter().next().unwrap_or_default()
    }

    /// Primary address for a hook that needs one, looked up if this process does not know it yet.
    pub(super) async fn address(&self, hook: &Hook) -> String {
        let known = self.ip();
        if !known.is_empty() || !matches!(hook, Hook::Http(_)) {
            return known;
        }
        let seen = self.around.doors.runtime.observe(&self.uid).await;
        let sandbox = seen
            .ok()
            .and_then(|seen| seen.have.sandboxes.into_iter().next());
        Self {
            sandbox,
            ..self.clone()
        }
        .ip()
    }

    /// Whose logs they are.
    pub(super) fn log_owner(&self) -> LogOwner {
        LogOwner {
            namespace: self.name.namespace.to_string(),
            name: self.name.name.to_string(),
            uid: self.uid.clone(),
        }
    }

    /// What the host made ready, made ready again if this process does not know it.
    pub(super) async fn prepared(&self) -> Result<Arc<PreparedPod>, Fail> {
        match &self.kit.prepared {
            Some(prepared) => Ok(Arc::clone(prepared)),
            None => {
                let references = self.references().await?;
                let host = &self.around.doors.host;
                host.prepare_pod(self.want()?, &references)
                    .await
                    .map(Arc::new)
            }
        }
    }

    /// What the manifest refers to, as it is now.
    pub(super) async fn references(&self) -> Result<Arc<References>, Fail> {
        self.around.doors.objects.references(self.want()?).await
    }
}
