//! The `Runtime` port over CRI.

use std::time::Duration;

use agent_core::{ContainerId, Fail, FailKind, ImageName, Observation, PodUid, SandboxId};
use agent_loops::Clock;
use agent_loops::ports::{
    ContainerSpec, ExecOutput, ImageFacts, ListedImage, PullCredential, Runtime, RuntimeConditions,
    RuntimeEvent, RuntimeFacts, SandboxSpec,
};
use async_trait::async_trait;
use futures::future::try_join_all;
use futures::stream::BoxStream;
use proto::cri;

use crate::call::{
    container_status::container_status, create_container::create_container, exec_sync::exec_sync,
    get_container_events::get_container_events, image_status::image_status,
    list_containers::list_containers, list_images::list_images, list_pod_sandbox::list_pod_sandbox,
    pod_sandbox_status::pod_sandbox_status, pull_image::pull_image,
    remove_container::remove_container, remove_pod_sandbox::remove_pod_sandbox,
    reopen_container_log::reopen_container_log, run_pod_sandbox::run_pod_sandbox, runtime_config,
    runtime_handlers::user_namespaces, start_container::start_container, status,
    stop_container::stop_container, stop_pod_sandbox::stop_pod_sandbox, version::version,
};
use crate::config::{self, Answers, ConfigError, Kernel, NodeSettings};
use crate::connection::{Connection, EndpointError};
use crate::labels;
use crate::observe;

/// A container runtime behind a Unix socket.
#[derive(Debug)]
pub struct CriRuntime {
    connection: Connection,
    node: NodeSettings,
    kernel: Kernel,
    clock: Clock,
}

impl CriRuntime {
    /// `endpoint` is the stock `containerRuntimeEndpoint`, a `unix://` address; `limit` is
    /// `runtimeRequestTimeout`. Nothing is sent before the first call, and a lost connection is made
    /// again by the next one. Has to be called inside a tokio runtime.
    pub fn new(
        endpoint: &str,
        limit: Duration,
        node: NodeSettings,
        clock: Clock,
    ) -> Result<Self, EndpointError> {
        let connection = Connection::new(endpoint, limit)?;
        Ok(Self {
            connection,
            node,
            kernel: Kernel::read("/sys".as_ref()),
            clock,
        })
    }

    /// For the other port of this type.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Devices go by CDI name only to a runtime that is known to resolve them.
    async fn cdi(&self) -> Result<bool, Fail> {
        match self.connection.cdi() {
            Some(cdi) => Ok(cdi),
            None => Ok(status::abilities(&self.connection).await?.cdi),
        }
    }
}

#[async_trait]
impl Runtime for CriRuntime {
    async fn facts(&self) -> Result<RuntimeFacts, Fail> {
        let version = version(&self.connection).await?;
        let abilities = status::abilities(&self.connection).await?;
        Ok(RuntimeFacts {
            name: version.runtime_name,
            version: version.runtime_version,
            cdi: abilities.cdi,
            cgroup_driver: runtime_config::cgroup_driver(&self.connection).await?,
            handlers: abilities.handlers,
            supplemental_groups_policy: abilities.supplemental_groups_policy,
        })
    }

    async fn conditions(&self) -> Result<RuntimeConditions, Fail> {
        status::conditions(&self.connection).await
    }

    async fn run_sandbox(&self, spec: &SandboxSpec) -> Result<SandboxId, Fail> {
        let told = |error: ConfigError| error.fail_sandbox();
        let handler = config::runtime_handler(spec).map_err(told)?;
        if config::wants_user_namespace(spec)
            && !user_namespaces(&self.connection, &handler).await?
        {
            return Err(told(ConfigError::UserNamespaceSupport(handler)));
        }
        let config = config::sandbox_config(spec, &self.node).map_err(told)?;
        run_pod_sandbox(&self.connection, config, handler).await
    }

    async fn stop_sandbox(&self, id: &SandboxId) -> Result<(), Fail> {
        gone_is_fine(stop_pod_sandbox(&self.connection, id).await)
    }

    async fn remove_sandbox(&self, id: &SandboxId) -> Result<(), Fail> {
        gone_is_fine(remove_pod_sandbox(&self.connection, id).await)
    }

    async fn create_container(&self, spec: &ContainerSpec) -> Result<ContainerId, Fail> {
        let told = |error: ConfigError| error.fail_container();
        let target = match config::target(spec) {
            Some(name) => Some(self.target(spec, name).await?.map_err(told)?),
            None => None,
        };
        let answers = Answers {
            cdi: spec.grants.is_empty() || self.cdi().await?,
            target: target.as_deref(),
        };
        let message = config::container_request(spec, &self.node, &self.kernel, answers);
        let message = message.map_err(told)?;
        create_container(&self.connection, message).await
    }

    async fn start_container(&self, id: &ContainerId) -> Result<(), Fail> {
        start_container(&self.connection, id).await
    }

    async fn stop_container(&self, id: &ContainerId, grace: Duration) -> Result<(), Fail> {
        gone_is_fine(stop_container(&self.connection, id, grace).await)
    }

    async fn remove_container(&self, id: &ContainerId) -> Result<(), Fail> {
        gone_is_fine(remove_container(&self.connection, id).await)
    }

    async fn image(&self, image: &ImageName) -> Result<Option<ImageFacts>, Fail> {
        image_status(&self.connection, image.as_str()).await
    }

    async fn images(&self) -> Result<Vec<ListedImage>, Fail> {
        list_images(&self.connection).await
    }

    async fn pull(
        &self,
        image: &ImageName,
        credential: Option<&PullCredential>,
    ) -> Result<ImageFacts, Fail> {
        let reference = pull_image(&self.connection, image.as_str(), credential).await?;
        let facts = image_status(&self.connection, &reference).await?;
        facts.ok_or_else(|| {
            let message = format!("image {image} was removed again right after it was pulled");
            Fail::retry("ErrImagePull", message)
        })
    }

    async fn exec(
        &self,
        id: &ContainerId,
        command: &[String],
        timeout: Duration,
    ) -> Result<ExecOutput, Fail> {
        exec_sync(&self.connection, id, command, timeout).await
    }

    async fn reopen_log(&self, id: &ContainerId) -> Result<(), Fail> {
        reopen_container_log(&self.connection, id).await
    }

    async fn list(&self) -> Result<Vec<Observation>, Fail> {
        let at = self.clock.now();
        let sandboxes = list_pod_sandbox(&self.connection, None);
        let containers = list_containers(&self.connection, None);
        let (sandboxes, containers) = futures::try_join!(sandboxes, containers)?;
        Ok(observe::listing(at, &sandboxes, &containers))
    }

    async fn observe(&self, uid: &PodUid) -> Result<Observation, Fail> {
        let at = self.clock.now();
        let sandboxes = list_pod_sandbox(&self.connection, Some(uid));
        let containers = list_containers(&self.connection, Some(uid));
        let (sandboxes, containers) = futures::try_join!(sandboxes, containers)?;
        let sandboxes = sandboxes.iter().map(|each| self.sandbox_status(&each.id));
        let containers = containers.iter().map(|each| self.container_status(each));
        let (sandboxes, containers) =
            futures::try_join!(try_join_all(sandboxes), try_join_all(containers))?;
        let sandboxes: Vec<_> = sandboxes.into_iter().flatten().collect();
        let containers: Vec<_> = containers.into_iter().flatten().collect();
        Ok(observe::detailed(at, uid, &sandboxes, &containers))
    }

    async fn events(&self) -> Result<BoxStream<'static, Result<RuntimeEvent, Fail>>, Fail> {
        get_container_events(&self.connection).await
    }
}

impl CriRuntime {
    /// The running container of that name in the sandbox.
    async fn target(
        &self,
        spec: &ContainerSpec,
        name: &str,
    ) -> Result<Result<String, ConfigError>, Fail> {
        let containers = list_containers(&self.connection, Some(&spec.pod.want.uid)).await?;
        let mut named = containers.into_iter().filter(|each| {
            each.pod_sandbox_id == spec.sandbox.as_str()
                && each.state() == cri::ContainerState::ContainerRunning
                && labels::container_name(&each.labels).is_some_and(|own| own.as_str() == name)
        });
        let found = named.next().map(|each| each.id);
        Ok(found.ok_or_else(|| ConfigError::Target(name.to_owned())))
    }

    /// Of a sandbox that was listed a moment ago and may be gone now.
    async fn sandbox_status(&self, id: &str) -> Result<Option<cri::PodSandboxStatus>, Fail> {
        gone_is_none(pod_sandbox_status(&self.connection, id).await)
    }

    /// Likewise of a container, with the sandbox that only a listing tells.
    async fn container_status(
        &self,
        listed: &cri::Container,
    ) -> Result<Option<(String, cri::ContainerStatus)>, Fail> {
        let status = gone_is_none(container_status(&self.connection, &listed.id).await)?;
        Ok(status.map(|status| (listed.pod_sandbox_id.clone(), status)))
    }
}

/// For stops and removals: what is not there needs neither.
fn gone_is_fine(result: Result<(), Fail>) -> Result<(), Fail> {
    gone_is_none(result).map(Option::unwrap_or_default)
}

fn gone_is_none<T>(result: Result<T, Fail>) -> Result<Option<T>, Fail> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(fail) if fail.kind == FailKind::Gone => Ok(None),
        Err(fail) => Err(fail),
    }
}
