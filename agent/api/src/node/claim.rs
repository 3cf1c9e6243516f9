//! Whose node name it is: the rule by which two agents with one name do not fight.
//!
//! The stock lease says only the node's name, so that two agents of one name look like one. gpulet
//! writes beside it which process on which machine renews the lease; a stock kubelet leaves that
//! alone. A lease is free when nobody says so (a stock node), when it was this machine (a restart),
//! and when it has not been renewed for its whole duration.

use std::time::Duration;

use agent_core::Time;
use k8s_openapi::api::coordination::v1::Lease;
use tokio::time::Instant;

use super::facts::timestamp;

/// Annotation of the lease with the identity of the process that renews it.
pub(crate) const HOLDER: &str = "gpulet/lease-holder";

/// Clocks of two machines of one cluster do not differ by more. A lease that is older than this beyond
/// its duration is free at once; a younger one is watched for its duration first.
const SKEW: Duration = Duration::from_secs(600);

/// One process of the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    machine: String,
    boot: String,
    started: i64,
}

impl Identity {
    pub(crate) fn new(machine: &str, boot: &str, started: Time) -> Self {
        Self {
            machine: machine.to_owned(),
            boot: boot.to_owned(),
            started: started.0,
        }
    }

    /// As the annotation has it: machine, boot, start of the process.
    pub(crate) fn text(&self) -> String {
        format!("{}/{}/{}", self.machine, self.boot, self.started)
    }

    /// Whether the annotation was written on this machine. Without an identity of its own a machine
    /// cannot tell, and takes every annotation for its own, as a stock node does.
    fn is_of_this_machine(&self, text: &str) -> bool {
        let machine = text.split('/').next().unwrap_or("");
        self.machine.is_empty() || machine == self.machine
    }
}

/// Watches the lease of another agent until it has run out.
#[derive(Debug, Default)]
pub(crate) struct Claim {
    /// Last renewal that was seen, and when it was seen first.
    seen: Option<(Option<i64>, Instant)>,
}

/// Whether the lease may be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It may.
    Free,
    /// Another agent renews it: its identity.
    Held(String),
}

impl Claim {
    /// The lease could not be read. Whoever holds it may not have reached the API server either, so
    /// that the time of watching begins anew.
    pub(crate) fn was_blind(&mut self) {
        if let Some((_, since)) = &mut self.seen {
            *since = Instant::now();
        }
    }

    /// Looks at the lease as it is now.
    pub(crate) fn judge(&mut self, lease: Option<&Lease>, own: &Identity, now: Time) -> Verdict {
        let Some(lease) = lease else {
            return Verdict::Free;
        };
        let annotations = lease.metadata.annotations.as_ref();
        let Some(holder) = annotations.and_then(|all| all.get(HOLDER)) else {
            return Verdict::Free;
        };
        if own.is_of_this_machine(holder) {
            return Verdict::Free;
        }
        let spec = lease.spec.as_ref();
        let seconds = spec
            .and_then(|spec| spec.lease_duration_seconds)
            .unwrap_or(0);
        let duration = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
        let renewed = spec
            .and_then(|spec| spec.renew_time.as_ref())
            .and_then(|time| i64::try_from(time.0.as_nanosecond()).ok());
        let since = match self.seen {
            Some((seen, since)) if seen == renewed => since,
            _ => Instant::now(),
        };
        self.seen = Some((renewed, since));
        let long_ago = renewed.is_none_or(|at| now.since(Time(at)) > duration + SKEW);
        if long_ago || since.elapsed() >= duration {
            return Verdict::Free;
        }
        Verdict::Held(holder.clone())
    }
}

/// When a lease is renewed, as the API writes it.
pub(crate) fn renew_time(now: Time) -> k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime {
    k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime(timestamp(now))
}

#[cfg(test)]
mod tests;
