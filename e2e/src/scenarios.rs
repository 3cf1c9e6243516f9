//! The scenarios by name. The ones that take longest stand first, so that the run ends evenly.

use std::pin::Pin;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{Node, full_name, openable, until};
use proto::gpulet::Pod;

mod api_outage;
mod bad_manifests;
mod bad_pods;
mod bad_state_file;
mod bootstrap;
mod cluster_harness;
mod containerd_restart;
mod cri_calls;
mod diary;
mod dice;
mod first_pod;
mod gpu_pods;
mod hang_costs_one_gpu;
mod harness;
mod health;
mod kubectl;
mod late_driver;
mod lifecycle;
mod no_cdi_runtime;
mod node_object;
mod probes_and_hooks;
mod pull_policies;
mod pynvml;
mod restart_churn;
mod restart_keeps_pods;
mod second_kubelet;
mod security_context;
mod topology;
mod volumes;
mod workloads;

type Running = Pin<Box<dyn Future<Output = Result<()>>>>;

/// A named test with nodes of its own.
pub(crate) struct Scenario {
    /// As `make e2e S=<name>` takes it.
    pub(crate) name: &'static str,
    /// Whether it has a control plane; only such a one can have the stock kubelet on its node.
    pub(crate) cluster: bool,
    /// Runs it.
    pub(crate) run: fn() -> Running,
}

macro_rules! scenarios {
    ($($kind:ident $name:literal => $module:ident,)*) => {
        pub(crate) const SCENARIOS: &[Scenario] = &[
            $(Scenario { name: $name, cluster: $kind, run: || Box::pin($module::run()) },)*
        ];
    };
}

const CLUSTER: bool = true;
const NODE: bool = false;

scenarios! {
    CLUSTER "volumes" => volumes,
    CLUSTER "pull-policies" => pull_policies,
    CLUSTER "api-outage" => api_outage,
    CLUSTER "kubectl" => kubectl,
    CLUSTER "workloads" => workloads,
    CLUSTER "probes-and-hooks" => probes_and_hooks,
    CLUSTER "bad-pods" => bad_pods,
    CLUSTER "security-context" => security_context,
    CLUSTER "node-object" => node_object,
    CLUSTER "bootstrap" => bootstrap,
    CLUSTER "restart-churn" => restart_churn,
    NODE "restart-keeps-pods" => restart_keeps_pods,
    NODE "lifecycle" => lifecycle,
    NODE "hang-costs-one-gpu" => hang_costs_one_gpu,
    NODE "bad-state-file" => bad_state_file,
    NODE "late-driver" => late_driver,
    NODE "topology" => topology,
    NODE "no-cdi-runtime" => no_cdi_runtime,
    NODE "containerd-restart" => containerd_restart,
    NODE "bad-manifests" => bad_manifests,
    NODE "gpu-pods" => gpu_pods,
    NODE "cri-calls" => cri_calls,
    NODE "first-pod" => first_pod,
    NODE "second-kubelet" => second_kubelet,
    NODE "pynvml" => pynvml,
    CLUSTER "cluster-harness" => cluster_harness,
    NODE "harness" => harness,
}

/// A pod starts in 0.3 s on a quiet machine. On a very busy one containerd was seen to take half a minute for a stop.
const POD_LIMIT: Duration = Duration::from_secs(60);
/// GPUs of the machine profile that most scenarios use.
const GPUS: u32 = 8;

/// Waits until the container `main` of the static pod runs and gives its id.
async fn running(node: &Node, pod: &str) -> Result<String> {
    let pod = full_name(pod);
    let what = format!("a running container main in {pod}");
    until(&what, POD_LIMIT, async || {
        Ok(node.cri().running(&pod, "main").await?.id)
    })
    .await
}

/// Waits until the static pod has no ready sandbox and no folder any more.
async fn gone(node: &Node, pod: &str) -> Result<()> {
    let pod = full_name(pod);
    until(&format!("the end of {pod}"), POD_LIMIT, async || {
        let ready = node.cri().ready_pods().await?;
        ensure!(!ready.contains(&pod), "its sandbox is ready");
        Ok(())
    })
    .await
}

/// The GPUs that the container `main` of a running static pod may open.
async fn gpus_of(node: &Node, pod: &str) -> Result<std::collections::BTreeSet<u32>> {
    let id = node.cri().running(&full_name(pod), "main").await?.id;
    openable(node.cri(), &id, GPUS)
        .await
        .with_context(|| format!("looking into {pod}"))
}

/// Waits until the agent's account of the static pod (phase, reasons, next steps) has all of `words`.
async fn told(node: &Node, pod: &str, words: &[&str]) -> Result<Pod> {
    let api = node.agent.api()?;
    until(
        &format!("{words:?} about the pod {pod}"),
        POD_LIMIT,
        async || {
            let pod = api.pod(pod).await?;
            let account = format!("{pod:?}");
            let missing: Vec<_> = words
                .iter()
                .filter(|word| !account.contains(**word))
                .collect();
            ensure!(missing.is_empty(), "{missing:?} not in {account}");
            Ok(pod)
        },
    )
    .await
}
