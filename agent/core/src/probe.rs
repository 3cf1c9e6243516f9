//! From single tries of a probe to its verdict.

use crate::plan::ProbeKind;
use crate::want::Probe;

/// Tries of one probe of one container instance. A new instance begins anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeState {
    verdict: Option<bool>,
    last: Option<bool>,
    /// Tries in a row that ended like the last one.
    run: u32,
}

impl ProbeState {
    /// Before the first try. Kubernetes: alive and not ready until shown otherwise. A container that
    /// was running before the agent began has no readiness verdict yet and stays as it was.
    pub fn new(kind: ProbeKind, adopted: bool) -> Self {
        let verdict = match kind {
            ProbeKind::Startup => None,
            ProbeKind::Liveness => Some(true),
            ProbeKind::Readiness => (!adopted).then_some(false),
        };
        Self {
            verdict,
            last: None,
            run: 0,
        }
    }

    /// The present verdict, `None` until there is one.
    pub fn verdict(&self) -> Option<bool> {
        self.verdict
    }

    /// Counts a try. Returns the verdict if this try has changed it.
    ///
    /// A try that could not be made at all is no try and must not be counted.
    pub fn apply(&mut self, probe: &Probe, success: bool) -> Option<bool> {
        self.run = if self.last == Some(success) {
            self.run.saturating_add(1)
        } else {
            1
        };
        self.last = Some(success);
        let threshold = if success {
            probe.success_threshold
        } else {
            probe.failure_threshold
        };
        if self.run < threshold || self.verdict == Some(success) {
            return None;
        }
        self.verdict = Some(success);
        self.verdict
    }
}

#[cfg(test)]
mod tests;
