//! Many pods, of which a few are struck and all others must not notice.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{
    Cluster, HOSTNAME, POD, STAY, Seen, api_pod, condition, container, deployment,
    staying_containers, until,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::scenarios::POD_LIMIT;

/// A pod that comes and goes while the API server is in trouble.
pub(super) const LATE: &str = "late";
/// When something happens to a pod whose process is killed and to one whose probe fails.
const TIMES: [&str; 3] = ["away", "refused", "troubled"];

/// The pods as they should be.
pub(super) struct Crowd {
    /// Containers that nothing has happened to, as they were in the beginning.
    untouched: Vec<Seen>,
    /// Pods whose container was restarted.
    struck: BTreeSet<String>,
}

impl Crowd {
    /// Starts `count` pods and waits until all are ready.
    pub(super) async fn start(cluster: &Cluster, count: u32) -> Result<Crowd> {
        let objects = cluster.objects();
        let mut others = count;
        for time in TIMES {
            for pod in [killed(time), probed(time)] {
                objects.apply(&pod).await?;
                others -= 1;
            }
        }
        let pod = json!({ "containers": staying_containers() });
        objects.apply(&deployment("crowd", others, pod)).await?;
        let crowd = Crowd {
            untouched: Vec::new(),
            struck: BTreeSet::new(),
        };
        objects
            .until_all(POD, "", |pods| {
                ensure!(pods.len() == count as usize, "{} pods", pods.len());
                pods.iter().try_for_each(|pod| crowd.ensure_right(pod))
            })
            .await
            .context("the crowd's start")?;
        let untouched = cluster.node.cri().seen().await?;
        ensure!(untouched.len() == count as usize, "{untouched:?}");
        Ok(Crowd { untouched, ..crowd })
    }

    /// Kills the first process of one container, lets the probe of another fail, and waits until both are restarted.
    pub(super) async fn strike(&mut self, cluster: &Cluster, time: &str) -> Result<()> {
        let cri = cluster.node.cri();
        let (killed, probed) = (format!("killed-{time}"), format!("probed-{time}"));
        let first = cri.running(&killed, "main").await?.id;
        let second = cri.running(&probed, "main").await?.id;
        let pid = i32::try_from(cri.pid(&first).await?)?;
        kill_process(Pid::from_raw(pid).context("no pid")?, Signal::KILL)?;
        cri.shell(&second, "rm /tmp/alive").await?;
        for (pod, old) in [(killed, first), (probed, second)] {
            let what = format!("a new container in {pod}");
            until(&what, POD_LIMIT, async || {
                let new = cri.running(&pod, "main").await?.id;
                ensure!(new != old, "the old one runs");
                Ok(())
            })
            .await?;
            self.untouched.retain(|seen| seen.pod != pod);
            self.struck.insert(pod);
        }
        Ok(())
    }

    /// Whether every container that nothing happened to is the same process as ever.
    pub(super) async fn ensure_untouched(&self, cluster: &Cluster) -> Result<()> {
        let mut now = cluster.node.cri().seen().await?;
        now.retain(|seen| !self.struck.contains(&seen.pod) && seen.pod != LATE);
        ensure!(
            now == self.untouched,
            "containers were touched: {now:?} instead of {:?}",
            self.untouched
        );
        Ok(())
    }

    /// Waits until the API server knows the containers that run, and how often they were restarted.
    pub(super) async fn ensure_known(&self, cluster: &Cluster, limit: Duration) -> Result<()> {
        let begin = tokio::time::Instant::now();
        let running = cluster.node.cri().seen().await?.into_iter();
        let running: BTreeMap<String, String> = running
            .filter(|seen| seen.running)
            .map(|seen| (seen.pod, format!("containerd://{}", seen.id)))
            .collect();
        let objects = cluster.objects().within(limit);
        objects
            .until_all(POD, "", |pods| {
                ensure!(pods.len() == running.len(), "{} pods", pods.len());
                for pod in pods {
                    self.ensure_right(pod)?;
                    let name = pod["metadata"]["name"].as_str().unwrap_or_default();
                    let told = pod["status"]["containerStatuses"][0]["containerID"].as_str();
                    let runs = running.get(name).map(String::as_str);
                    ensure!(told == runs, "{name}: {told:?} instead of {runs:?}");
                }
                Ok(())
            })
            .await?;
        tracing::info!("known after {:.1} s", begin.elapsed().as_secs_f32());
        Ok(())
    }

    /// Whether the API's account of a pod is right.
    fn ensure_right(&self, pod: &Value) -> Result<()> {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        let status = &pod["status"];
        let main = &status["containerStatuses"][0];
        ensure!(
            status["phase"] == "Running",
            "{name} is {}",
            status["phase"]
        );
        condition(pod, "Ready", "True").with_context(|| name.to_owned())?;
        let restarts = u64::from(self.struck.contains(name));
        ensure!(main["restartCount"] == restarts, "{name}: {main}");
        if restarts == 0 {
            return Ok(());
        }
        // The probe's victim is asked to end, and does.
        let code = if name.starts_with("killed") { 137 } else { 0 };
        let last = &main["lastState"]["terminated"];
        ensure!(last["exitCode"] == code, "{name}: {main}");
        Ok(())
    }
}

/// The pod that comes and goes. It is bound already: how soon the scheduler is back is another matter.
pub(super) fn late() -> Value {
    let spec = json!({ "nodeName": HOSTNAME, "containers": staying_containers() });
    api_pod(LATE, spec)
}

fn killed(time: &str) -> Value {
    let pod = json!({ "containers": staying_containers() });
    api_pod(&format!("killed-{time}"), pod)
}

/// Its container is alive as long as it has a file, and makes it anew at each start.
fn probed(time: &str) -> Value {
    let probe = |failures: u32| {
        json!({
            "exec": { "command": ["test", "-e", "/tmp/alive"] },
            "periodSeconds": 1,
            "failureThreshold": failures,
        })
    };
    let probes = json!({ "startupProbe": probe(60), "livenessProbe": probe(1) });
    let main = container("main", &format!("touch /tmp/alive; {STAY}"), probes);
    api_pod(&format!("probed-{time}"), json!({ "containers": [main] }))
}
