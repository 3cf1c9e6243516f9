//! From changes in the health book to notices, journal and views.

use gpu_model::{Finding, HealthChange, HealthEvent, HealthState, Target, Time, Xid};

use crate::effects::Save;
use crate::notice::{Notice, Subject};
use crate::state::State;

impl State {
    /// Enters an event into the health book.
    pub(crate) fn judge(&mut self, event: HealthEvent<'_>, now: Time) {
        let (health, changes) = std::mem::take(&mut self.health).apply(event, now);
        self.health = health;
        for change in changes {
            match change {
                HealthChange::Found(finding) => {
                    self.effects.save(Save::Now);
                    self.found(&finding, now);
                }
                HealthChange::Repeated(finding) => {
                    self.effects.save(Save::Soon);
                    self.repeated(&finding, now);
                }
                HealthChange::Cleared(finding) => {
                    self.effects.save(Save::Now);
                    self.cleared(&finding, now);
                }
                HealthChange::Noticed(target, code) => self.noticed(&target, code, now),
            }
        }
    }

    fn found(&mut self, finding: &Finding, now: Time) {
        let reason = match finding.state {
            HealthState::Unhealthy => "GpuUnhealthy",
            HealthState::Unresponsive => "GpuUnresponsive",
            _ => "GpuDegraded",
        };
        self.tell_fault(now, true, reason, finding, finding.message.clone());
    }

    fn repeated(&mut self, finding: &Finding, now: Time) {
        let code = finding.cause.xid().unwrap_or(0);
        if self.is_news(&finding.target, code, now) {
            let message = format!("{} ({} times)", finding.message, finding.count);
            self.tell_fault(now, true, "GpuFaultRepeated", finding, message);
        }
        self.effects.touched.insert(finding.target.gpu.clone());
    }

    fn cleared(&mut self, finding: &Finding, now: Time) {
        let state = self.health.state(&finding.target.gpu).as_str();
        let message = format!("{} is over; the GPU is {state}", finding.cause.name());
        self.tell_fault(now, false, "GpuRecovered", finding, message);
    }

    fn noticed(&mut self, target: &Target, code: u32, now: Time) {
        if self.is_news(target, code, now) {
            let xid = Xid::of(code);
            let message = format!("XID {code}: {}; {}", xid.meaning, xid.advice);
            let gpu = Subject::Gpu(target.gpu.clone());
            self.tell(now, false, "GpuXid", gpu, message);
        }
    }

    fn tell_fault(
        &mut self,
        at: Time,
        warning: bool,
        reason: &'static str,
        finding: &Finding,
        message: String,
    ) {
        let gpu = finding.target.gpu.clone();
        self.effects.touched.insert(gpu.clone());
        let why = match finding.target.instance {
            None => finding.cause.name(),
            Some((instance, None)) => {
                format!("{} in GPU instance {instance}", finding.cause.name())
            }
            Some((instance, Some(compute))) => {
                format!(
                    "{} in GPU instance {instance}, {compute}",
                    finding.cause.name()
                )
            }
        };
        let subject = Subject::Gpu(gpu);
        let fault = Some(finding.fault);
        self.effects.notices.push(Notice {
            at,
            warning,
            reason,
            subject,
            message,
            why,
            fault,
        });
    }
}
