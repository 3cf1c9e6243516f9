//! Which pods may see something new.

use agent_core::PodUid;
use agent_loops::ports::ObjectChanges;
use tokio::sync::watch;

/// The numbers that `Objects::changes` shows. A pod stands in it from its first question until it is
/// forgotten; what belongs to no such pod changes nothing.
#[derive(Debug, Default)]
pub(super) struct Changes {
    sender: watch::Sender<ObjectChanges>,
}

impl Changes {
    /// From now on the pod can be touched.
    pub(super) fn begin(&self, uid: &PodUid) {
        self.sender.send_if_modified(|changes| {
            changes.pods.entry(uid.clone()).or_insert(0);
            false
        });
    }

    /// Something that these pods refer to is another now.
    pub(super) fn touch<'a>(&self, pods: impl IntoIterator<Item = &'a PodUid>) {
        self.sender.send_if_modified(|changes| {
            let next = changes.generation + 1;
            let mut touched = false;
            for uid in pods {
                if let Some(at) = changes.pods.get_mut(uid) {
                    *at = next;
                    touched = true;
                }
            }
            if touched {
                changes.generation = next;
            }
            touched
        });
    }

    /// The pod is gone.
    pub(super) fn forget(&self, uid: &PodUid) {
        self.sender.send_if_modified(|changes| {
            changes.pods.remove(uid);
            false
        });
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<ObjectChanges> {
        self.sender.subscribe()
    }
}
