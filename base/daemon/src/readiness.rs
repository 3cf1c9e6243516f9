//! Readiness as the set of handles that have been dropped.

use std::sync::{Arc, Mutex, PoisonError};

/// Knows what start-up still waits for. Clones are the same set.
#[derive(Clone, Debug, Default)]
pub struct Readiness {
    pending: Arc<Mutex<Vec<&'static str>>>,
}

/// One thing that has to be up first. Dropping it says that it is.
#[derive(Debug)]
pub struct Hold {
    name: &'static str,
    pending: Arc<Mutex<Vec<&'static str>>>,
}

impl Readiness {
    /// One more thing to wait for, by the name that an operator will read.
    pub fn hold(&self, name: &'static str) -> Hold {
        self.pending
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(name);
        Hold {
            name,
            pending: self.pending.clone(),
        }
    }

    /// What is not up yet, in the order it was registered. Empty: ready.
    pub fn pending(&self) -> Vec<&'static str> {
        self.pending
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = pending.iter().position(|name| *name == self.name) {
            pending.remove(at);
        }
        match pending.as_slice() {
            [] => tracing::info!(part = self.name, "last part is up: ready"),
            rest => tracing::debug!(part = self.name, waiting = ?rest, "part is up"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_when_every_hold_is_dropped() {
        let readiness = Readiness::default();
        let (first, second) = (readiness.hold("runtime"), readiness.hold("manifests"));
        assert_eq!(readiness.pending(), ["runtime", "manifests"]);
        drop(first);
        assert_eq!(readiness.pending(), ["manifests"]);
        drop(second);
        assert!(readiness.pending().is_empty());
    }
}
