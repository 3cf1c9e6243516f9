//! One line of the table: a pod, and what becomes of it.

use std::time::Duration;

use anyhow::{Result, ensure};
use e2e::{Cluster, POD, api_pod};
use serde_json::Value;

/// Two restarts of a container lie in it, with their back-off.
const LIMIT: Duration = Duration::from_secs(60);

/// A pod that a node cannot run, and what is seen of that.
#[derive(Clone)]
pub(super) struct Row {
    pub(super) name: String,
    spec: Value,
    ends: Ends,
    /// Reason of an event.
    event: &'static str,
    /// A part of its message.
    says: &'static str,
}

/// How a pod ends up.
#[derive(Clone, Copy)]
enum Ends {
    /// Failed with this reason, and never had a container.
    Rejected(&'static str),
    /// Failed with this reason, after it ran.
    Stopped(&'static str),
    /// Pending or Running; its first container (init containers apart) waits for this reason.
    Waits(&'static str, &'static str),
    /// Failed; its first container ended with this reason and code.
    Fails(&'static str, i64),
}

impl Row {
    pub(super) fn rejected(
        name: &str,
        spec: Value,
        reason: &'static str,
        says: &'static str,
    ) -> Row {
        Row::new(name, spec, Ends::Rejected(reason), reason, says)
    }

    pub(super) fn stopped(
        name: &str,
        spec: Value,
        reason: &'static str,
        says: &'static str,
    ) -> Row {
        Row::new(name, spec, Ends::Stopped(reason), reason, says)
    }

    pub(super) fn waits(
        name: &str,
        spec: Value,
        (phase, reason): (&'static str, &'static str),
        event: &'static str,
        says: &'static str,
    ) -> Row {
        Row::new(name, spec, Ends::Waits(phase, reason), event, says)
    }

    pub(super) fn fails(
        name: &str,
        spec: Value,
        (reason, code): (&'static str, i64),
        event: &'static str,
        says: &'static str,
    ) -> Row {
        Row::new(name, spec, Ends::Fails(reason, code), event, says)
    }

    fn new(name: &str, spec: Value, ends: Ends, event: &'static str, says: &'static str) -> Row {
        Row {
            name: name.to_owned(),
            spec,
            ends,
            event,
            says,
        }
    }

    /// The same under another name.
    pub(super) fn named(&self, name: String) -> Row {
        Row {
            name,
            ..self.clone()
        }
    }

    /// Makes the pod and looks at it.
    pub(super) async fn hold(&self, cluster: &Cluster) -> Result<()> {
        let objects = cluster.objects();
        objects
            .apply(&api_pod(&self.name, self.spec.clone()))
            .await?;
        self.look(cluster).await
    }

    /// Makes the pod and says whether it was rejected; otherwise it runs.
    pub(super) async fn ends_rejected(&self, cluster: &Cluster) -> Result<bool> {
        let objects = cluster.objects();
        objects
            .apply(&api_pod(&self.name, self.spec.clone()))
            .await?;
        let phase = objects.until(POD, &self.name, |pod| {
            let phase = pod["status"]["phase"].as_str().unwrap_or_default();
            ensure!(phase != "Pending", "it is Pending");
            Ok(phase == "Failed")
        });
        phase.await
    }

    /// Waits until the pod looks as the row says, and for the event.
    pub(super) async fn look(&self, cluster: &Cluster) -> Result<()> {
        let objects = cluster.objects().within(LIMIT);
        objects
            .until(POD, &self.name, |pod| self.ends.look(&pod["status"]))
            .await?;
        objects.told(&self.name, self.event, self.says).await?;
        if let Ends::Rejected(_) = self.ends {
            let containers = cluster.node.cri().of_pod(&self.name).await?;
            ensure!(containers.is_empty(), "it has containers: {containers:?}");
        }
        Ok(())
    }
}

impl Ends {
    fn look(self, status: &Value) -> Result<()> {
        let phase = match self {
            Ends::Waits(phase, _) => phase,
            _ => "Failed",
        };
        ensure!(status["phase"] == phase, "the phase is {}", status["phase"]);
        let state = &status["containerStatuses"][0]["state"];
        match self {
            Ends::Rejected(reason) => {
                ensure!(
                    status["reason"] == reason,
                    "the reason is {}",
                    status["reason"]
                );
                let message = status["message"].as_str().unwrap_or_default();
                ensure!(
                    message.starts_with("Pod was rejected: "),
                    "it says {message}"
                );
            }
            Ends::Stopped(reason) => ensure!(
                status["reason"] == reason,
                "the reason is {}",
                status["reason"]
            ),
            Ends::Waits(_, reason) => ensure!(state["waiting"]["reason"] == reason, "{state}"),
            Ends::Fails(reason, code) => {
                let ended = &state["terminated"];
                ensure!(
                    ended["reason"] == reason && ended["exitCode"] == code,
                    "{ended}"
                );
            }
        }
        Ok(())
    }
}
