//! Pods by bare CRI calls, without any agent: the measure for what an agent adds.

use std::path::{Path, PathBuf};

use anyhow::Result;
use proto::cri::runtime_service_client::RuntimeServiceClient;
use proto::cri::{
    CdiDevice, ContainerConfig, ContainerMetadata, CreateContainerRequest, ImageSpec,
    LinuxPodSandboxConfig, PodSandboxConfig, PodSandboxMetadata, RemoveContainerRequest,
    RemovePodSandboxRequest, RunPodSandboxRequest, StartContainerRequest, StopContainerRequest,
    StopPodSandboxRequest,
};
use tonic::transport::{Channel, Endpoint};

use crate::footprint::Footprint;
use crate::images::BUSYBOX;
use crate::pods::STAY;

/// A client that makes pods like the ones that `staying` describes.
#[derive(Debug, Clone)]
pub struct Bare {
    /// The generated client.
    pub client: RuntimeServiceClient<Channel>,
    cgroup: String,
    logs: PathBuf,
}

/// A pod of one container.
#[derive(Debug, Clone)]
pub struct BarePod {
    /// The sandbox.
    pub sandbox: String,
    /// The container.
    pub container: String,
}

impl Bare {
    /// A client of a CRI socket, containerd's own or a proxy's.
    pub fn connect(socket: &Path, footprint: &Footprint) -> Result<Bare> {
        let endpoint = Endpoint::try_from(format!("unix:{}", socket.display()))?;
        let client = RuntimeServiceClient::new(endpoint.connect_lazy());
        // One for all: the runtime removes what it makes below, and the node its own.
        let cgroup = format!("/{}/bare", footprint.name());
        Ok(Bare {
            client,
            cgroup,
            logs: footprint.data_folder().join("bare-logs"),
        })
    }

    /// Makes and starts a pod, its container with these CDI devices: three calls.
    pub async fn start(&mut self, name: &str, devices: &[&str]) -> Result<BarePod> {
        let metadata = PodSandboxMetadata {
            name: name.into(),
            uid: format!("uid-{name}"),
            namespace: "default".into(),
            attempt: 0,
        };
        let linux = LinuxPodSandboxConfig {
            cgroup_parent: self.cgroup.clone(),
            ..Default::default()
        };
        let logs = self.logs.join(name);
        std::fs::create_dir_all(&logs)?;
        let sandbox_config = PodSandboxConfig {
            metadata: Some(metadata),
            hostname: name.into(),
            log_directory: logs.display().to_string(),
            linux: Some(linux),
            ..Default::default()
        };
        let config = Some(sandbox_config.clone());
        let request = RunPodSandboxRequest {
            config,
            runtime_handler: String::new(),
        };
        let sandbox = self
            .client
            .run_pod_sandbox(request)
            .await?
            .into_inner()
            .pod_sandbox_id;
        let config = ContainerConfig {
            metadata: Some(ContainerMetadata {
                name: "main".into(),
                attempt: 0,
            }),
            image: Some(ImageSpec {
                image: BUSYBOX.into(),
                ..Default::default()
            }),
            command: ["/bin/sh", "-c", STAY].map(Into::into).into(),
            log_path: "main.log".into(),
            cdi_devices: devices
                .iter()
                .map(|name| CdiDevice {
                    name: (*name).into(),
                })
                .collect(),
            ..Default::default()
        };
        let request = CreateContainerRequest {
            pod_sandbox_id: sandbox.clone(),
            config: Some(config),
            sandbox_config: Some(sandbox_config),
        };
        let container = self
            .client
            .create_container(request)
            .await?
            .into_inner()
            .container_id;
        let request = StartContainerRequest {
            container_id: container.clone(),
        };
        self.client.start_container(request).await?;
        Ok(BarePod { sandbox, container })
    }

    /// Stops and removes a pod: four calls.
    pub async fn remove(&mut self, pod: BarePod) -> Result<()> {
        let request = StopContainerRequest {
            container_id: pod.container.clone(),
            timeout: 2,
        };
        self.client.stop_container(request).await?;
        let request = StopPodSandboxRequest {
            pod_sandbox_id: pod.sandbox.clone(),
        };
        self.client.stop_pod_sandbox(request).await?;
        let request = RemoveContainerRequest {
            container_id: pod.container,
        };
        self.client.remove_container(request).await?;
        let request = RemovePodSandboxRequest {
            pod_sandbox_id: pod.sandbox,
        };
        self.client.remove_pod_sandbox(request).await?;
        Ok(())
    }
}
