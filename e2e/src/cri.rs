//! What containerd itself says about a node's pods, asked past the proxy: the scenarios' witness, independent of the
//! agent under test.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use proto::cri::runtime_service_client::RuntimeServiceClient;
use proto::cri::{
    Container, ContainerFilter, ContainerState, ContainerStatus, ContainerStatusRequest,
    ExecSyncRequest, ListContainersRequest, ListPodSandboxRequest, PodSandbox, PodSandboxState,
    PodSandboxStatusRequest, RemovePodSandboxRequest, StopPodSandboxRequest, VersionRequest,
};
use tonic::transport::{Channel, Endpoint};

/// An exec in a test's container does one small thing.
const EXEC_LIMIT: Duration = Duration::from_secs(20);

/// A client of containerd's CRI socket.
#[derive(Debug, Clone)]
pub struct Cri {
    runtime: RuntimeServiceClient<Channel>,
}

/// A container as scenarios compare it: equal values mean that nothing was restarted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    /// Name of the pod, with the node's name at the end for a static pod.
    pub pod: String,
    /// Name of the container.
    pub container: String,
    /// The runtime's id.
    pub id: String,
    /// Process id of its first process on the machine; 0 when it does not run.
    pub pid: i64,
    /// Whether it runs.
    pub running: bool,
}

impl Cri {
    /// Connects to the socket. The first call opens the connection.
    pub fn connect(socket: &Path) -> Result<Cri> {
        let endpoint = Endpoint::try_from(format!("unix:{}", socket.display()))?;
        Ok(Cri {
            runtime: RuntimeServiceClient::new(endpoint.connect_lazy()),
        })
    }

    /// The generated client, for calls that only one scenario makes.
    pub fn raw(&self) -> RuntimeServiceClient<Channel> {
        self.runtime.clone()
    }

    /// The runtime's version.
    pub async fn version(&self) -> Result<String> {
        let request = VersionRequest {
            version: "0.1.0".into(),
        };
        Ok(self
            .raw()
            .version(request)
            .await?
            .into_inner()
            .runtime_version)
    }

    /// Sandboxes in every state.
    pub async fn sandboxes(&self) -> Result<Vec<PodSandbox>> {
        Ok(self
            .raw()
            .list_pod_sandbox(ListPodSandboxRequest::default())
            .await?
            .into_inner()
            .items)
    }

    /// Names of the pods that have a ready sandbox, sorted.
    pub async fn ready_pods(&self) -> Result<Vec<String>> {
        let ready = PodSandboxState::SandboxReady as i32;
        let ready = self
            .sandboxes()
            .await?
            .into_iter()
            .filter(|sandbox| sandbox.state == ready);
        let mut names: Vec<String> = ready
            .filter_map(|sandbox| Some(sandbox.metadata?.name))
            .collect();
        names.sort();
        Ok(names)
    }

    /// Containers in every state.
    pub async fn containers(&self) -> Result<Vec<Container>> {
        self.list(ContainerFilter::default()).await
    }

    /// The running container `container` of the pod `pod`.
    ///
    /// # Errors
    /// When none runs, with the states of those that are there.
    pub async fn running(&self, pod: &str, container: &str) -> Result<Container> {
        let all = self.of_pod(pod).await?;
        let mut named = all
            .into_iter()
            .filter(|c| c.metadata.as_ref().is_some_and(|m| m.name == container));
        let running = ContainerState::ContainerRunning as i32;
        let mut states = Vec::new();
        for candidate in named.by_ref() {
            if candidate.state == running {
                return Ok(candidate);
            }
            states.push(candidate.state().as_str_name());
        }
        bail!("no running container {container} in {pod}, only {states:?}")
    }

    /// Containers of one pod in every state, the newest first.
    pub async fn of_pod(&self, pod: &str) -> Result<Vec<Container>> {
        let label = ("io.kubernetes.pod.name".to_owned(), pod.to_owned());
        let filter = ContainerFilter {
            label_selector: [label].into(),
            ..ContainerFilter::default()
        };
        let mut all = self.list(filter).await?;
        all.sort_by_key(|container| std::cmp::Reverse(container.created_at));
        Ok(all)
    }

    /// Full status of a container.
    pub async fn status(&self, id: &str) -> Result<ContainerStatus> {
        Ok(self.verbose(id).await?.0)
    }

    /// Every container with id and process id, sorted: two equal lists mean that no container was touched.
    pub async fn seen(&self) -> Result<Vec<Seen>> {
        let mut all = Vec::new();
        for container in self.containers().await? {
            let running = container.state == ContainerState::ContainerRunning as i32;
            let pid = if running {
                self.pid(&container.id).await?
            } else {
                0
            };
            let label = |key: &str| container.labels.get(key).cloned().unwrap_or_default();
            all.push(Seen {
                pod: label("io.kubernetes.pod.name"),
                container: label("io.kubernetes.container.name"),
                id: container.id.clone(),
                pid,
                running,
            });
        }
        all.sort();
        Ok(all)
    }

    /// Process id of a container's first process on the machine.
    pub async fn pid(&self, id: &str) -> Result<i64> {
        let (_, info) = self.verbose(id).await?;
        info.get("pid")
            .and_then(serde_json::Value::as_i64)
            .context("the status names no pid")
    }

    /// The pod's address.
    pub async fn pod_ip(&self, pod: &str) -> Result<String> {
        let sandboxes = self.sandboxes().await?;
        let ready = PodSandboxState::SandboxReady as i32;
        let sandbox = sandboxes
            .iter()
            .find(|s| s.state == ready && s.metadata.as_ref().is_some_and(|m| m.name == pod))
            .with_context(|| format!("no ready sandbox of {pod}"))?;
        let request = PodSandboxStatusRequest {
            pod_sandbox_id: sandbox.id.clone(),
            verbose: false,
        };
        let status = self
            .raw()
            .pod_sandbox_status(request)
            .await?
            .into_inner()
            .status;
        Ok(status
            .and_then(|status| status.network)
            .context("no network status")?
            .ip)
    }

    /// Runs a shell line in a container and gives what it printed.
    ///
    /// # Errors
    /// When it ends with another code than 0, with what it said.
    pub async fn shell(&self, id: &str, line: &str) -> Result<String> {
        let cmd = ["/bin/sh", "-c", line].map(str::to_owned).to_vec();
        let timeout = i64::try_from(EXEC_LIMIT.as_secs())?;
        let request = ExecSyncRequest {
            container_id: id.to_owned(),
            cmd,
            timeout,
        };
        let answer = self.raw().exec_sync(request).await?.into_inner();
        let (out, err) = (
            String::from_utf8(answer.stdout)?,
            String::from_utf8_lossy(&answer.stderr),
        );
        ensure!(
            answer.exit_code == 0,
            "`{line}` ended with {}: {out}{err}",
            answer.exit_code
        );
        Ok(out)
    }

    /// Stops and removes every sandbox, as a drained node's last step.
    pub async fn remove_all(&self) -> Result<()> {
        for sandbox in self.sandboxes().await? {
            let id = sandbox.id;
            let stop = StopPodSandboxRequest {
                pod_sandbox_id: id.clone(),
            };
            self.raw().stop_pod_sandbox(stop).await?;
            self.raw()
                .remove_pod_sandbox(RemovePodSandboxRequest { pod_sandbox_id: id })
                .await?;
        }
        Ok(())
    }

    async fn list(&self, filter: ContainerFilter) -> Result<Vec<Container>> {
        let request = ListContainersRequest {
            filter: Some(filter),
        };
        Ok(self
            .raw()
            .list_containers(request)
            .await?
            .into_inner()
            .containers)
    }

    async fn verbose(&self, id: &str) -> Result<(ContainerStatus, serde_json::Value)> {
        let request = ContainerStatusRequest {
            container_id: id.to_owned(),
            verbose: true,
        };
        let answer = self.raw().container_status(request).await?.into_inner();
        let info = answer.info.get("info").map_or("{}", String::as_str);
        Ok((
            answer.status.context("no status in the answer")?,
            serde_json::from_str(info)?,
        ))
    }
}
