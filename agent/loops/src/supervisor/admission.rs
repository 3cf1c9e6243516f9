//! Whether a pod that is new here may run beside those that are there.

use agent_core::{Life, Needs, Refusal, admit};

use super::found::Found;
use super::{Entry, Supervisor};
use crate::events::Subject;
use crate::ports::WantedPod;

impl Supervisor {
    /// Why a new pod may not run here. What runs already was admitted once, by this agent or another,
    /// and is never refused; static pods are their operator's word.
    pub(super) fn refusal(&self, pod: &WantedPod, found: Option<&Found>) -> Option<Refusal> {
        let want = &pod.want;
        let begun = found.and_then(|found| found.seen.as_ref());
        if want.is_static
            || want.over.is_some()
            || want.deletion.is_some()
            || begun.is_some_and(|seen| !seen.have.containers.is_empty())
        {
            return None;
        }
        let offer = self.around.doors.offer.borrow().clone()?;
        let others = self.entries.values().filter_map(|entry| self.counts(entry));
        let rejection = admit(&want.needs, others, &offer).err()?;
        let (reason, message) = (rejection.reason, rejection.message);
        tracing::warn!(pod = %want.name, uid = %want.uid, reason, "pod is not admitted: {message}");
        let about = Subject::Pod {
            uid: want.uid.clone(),
            name: want.name.clone(),
        };
        let events = &self.around.events;
        events.warning(about, reason.clone(), message.clone());
        Some(Refusal { reason, message })
    }

    /// What a pod takes, if it takes anything: those that were refused or have ended do not.
    fn counts<'a>(&'a self, entry: &'a Entry) -> Option<&'a Needs> {
        let want = &entry.want.as_ref()?.want;
        let shown = self.board.get(&want.uid);
        let ended = shown.is_some_and(|pod| matches!(pod.life, Life::Finished | Life::Done));
        let takes = !ended && want.over.is_none() && entry.refusal.is_none();
        takes.then_some(&want.needs)
    }
}
