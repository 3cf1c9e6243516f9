//! Makes what runs equal to the newest plan, and shows it.

use std::sync::Arc;

use agent_core::{
    Action, Check, ContainerState, Life, Plan, Probe, ProbeKind, Probing, Step, begin,
};
use tokio::time::Instant;

use super::PodTask;
use super::start_slot::Progress;
use crate::events::Subject;
use crate::probes::ProbeJob;
use crate::snapshot::PodSnapshot;

impl PodTask {
    /// Does what the plan says.
    pub(super) fn follow(&mut self, plan: &Plan) {
        self.work.keep_to(&plan.wave);
        let queued = plan.wave.iter().filter(|step| !self.pursue(step)).count() > 0;
        let progress = self.progress(plan, queued);
        self.slot.review(progress, Instant::now());
        self.probe(&plan.probing);
        self.show(plan, queued);
    }

    /// Starts a step that does not run yet. False: it waits for a start slot.
    fn pursue(&mut self, step: &Step) -> bool {
        if self.work.since(&step.action).is_some() {
            return true;
        }
        if needs_slot(&step.action) && !self.slot.ask() {
            return false;
        }
        tracing::debug!(pod = %self.name, uid = %self.uid, action = ?step.action, why = ?step.why, "begins");
        self.tell_step(step);
        begin(&mut self.memory, &step.action);
        let job = self.job(Some(&step.action));
        self.work.start(job, step.action.clone());
        true
    }

    fn progress(&self, plan: &Plan, queued: bool) -> Progress {
        if queued {
            return Progress::Queued;
        }
        let waits = |state: &ContainerState| matches!(state, ContainerState::Waiting { .. });
        let starting = matches!(plan.life, Life::Waiting | Life::Running)
            && plan
                .status
                .containers
                .iter()
                .any(|container| waits(&container.state));
        if !starting {
            return Progress::Started;
        }
        let calls = plan.wave.iter().filter(|step| starts(&step.action));
        let since = calls.filter_map(|step| self.work.since(&step.action)).min();
        since.map_or(Progress::Idle, Progress::Busy)
    }

    fn probe(&mut self, probing: &[Probing]) {
        for missing in self.probes.keep_to(probing) {
            if let Some(job) = self.probe_job(missing) {
                self.probes.start(missing, job);
            }
        }
    }

    fn probe_job(&self, probing: &Probing) -> Option<ProbeJob> {
        let instance = self
            .have
            .containers
            .iter()
            .find(|each| each.id == probing.id)?;
        let probe = self.probe_of(probing)?;
        let ip = self.job(None).ip();
        // After a start of the agent the address has to be looked up first.
        if ip.is_empty() && !matches!(probe.check, Check::Exec(_)) {
            return None;
        }
        let (uid, name) = (self.uid.clone(), self.name.clone());
        Some(ProbeJob {
            around: Arc::clone(&self.around),
            about: Subject::Container {
                uid,
                name,
                container: probing.container.clone(),
            },
            probe: probe.clone(),
            ip,
            started_at: instance.started_at.unwrap_or(instance.created_at),
            adopted: self.memory.adopted.contains(&probing.id),
        })
    }

    fn probe_of(&self, probing: &Probing) -> Option<&Probe> {
        let want = &self.want.as_ref()?.want;
        let mut containers = want.init.iter().chain(&want.containers);
        let probes = &containers
            .find(|each| each.name == probing.container)?
            .probes;
        match probing.kind {
            ProbeKind::Startup => probes.startup.as_ref(),
            ProbeKind::Liveness => probes.liveness.as_ref(),
            ProbeKind::Readiness => probes.readiness.as_ref(),
        }
    }

    /// What is shown of an ended container is whole: its end and its last words come together, since a
    /// reader may look only once (Kubernetes 1.37).
    pub(super) fn show(&mut self, plan: &Plan, queued: bool) {
        let mut actions = plan.wave.iter().map(|step| &step.action);
        if actions.any(|action| matches!(action, Action::ReadTermination { .. })) {
            return;
        }
        let mut status = plan.status.clone();
        // The runtime gives no address to a pod on the host network: it has the node's.
        if status.ips.is_empty() {
            status.ips = self.job(None).ips();
        }
        let snapshot = PodSnapshot {
            uid: self.uid.clone(),
            name: self.name.clone(),
            manifest: self.want.as_ref().map(|want| Arc::clone(&want.manifest)),
            life: plan.life.clone(),
            status,
            steps: plan.wave.clone(),
            queued,
            failures: self.memory.failures.clone(),
            grants: self.kit.grants.clone().unwrap_or_default(),
        };
        if self
            .shown
            .as_ref()
            .is_some_and(|shown| shown.shows(&snapshot))
        {
            return;
        }
        self.tell_change(self.shown.clone().as_deref(), &snapshot);
        let snapshot = Arc::new(snapshot);
        self.shown = Some(Arc::clone(&snapshot));
        self.around.board.put(|changes| {
            changes.insert(snapshot.uid.clone(), snapshot);
        });
    }
}

/// Starts that are bounded in number.
fn needs_slot(action: &Action) -> bool {
    matches!(
        action,
        Action::CreateSandbox { .. } | Action::CreateContainer { .. }
    )
}

/// Calls that keep the slot busy.
fn starts(action: &Action) -> bool {
    needs_slot(action) || matches!(action, Action::StartContainer { .. })
}
