//! What can go wrong with calls and events.

use std::time::Duration;

use agent_core::{Fail, PodUid};

use crate::calls::Verb;

/// A fault of one kind of call.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Which calls.
    pub verb: Verb,
    /// Only those about this pod.
    pub uid: Option<PodUid>,
    /// How many of them.
    pub times: u32,
    /// What happens.
    pub kind: FaultKind,
}

/// What a faulty call does.
#[derive(Clone, Debug)]
pub enum FaultKind {
    /// It fails and changes nothing.
    Refuse(Fail),
    /// It takes effect, but the answer is lost.
    LoseReply(Fail),
    /// It fails after this time and changes nothing.
    FailLate(Duration),
    /// It does nothing until the door's own deadline of 2 min has passed.
    Hang,
}

/// How reliable the event stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weather {
    /// The runtime has events at all.
    pub supported: bool,
    /// Every n-th event is lost; 0: none.
    pub lose_every: u32,
    /// Events come this late, and show the state of when they were made.
    pub delay: Duration,
    /// Every event comes twice.
    pub doubled: bool,
}

impl Default for Weather {
    fn default() -> Self {
        Self {
            supported: true,
            lose_every: 0,
            delay: Duration::ZERO,
            doubled: false,
        }
    }
}

impl Fault {
    /// Calls of this kind fail once for a passing reason.
    pub fn once(verb: Verb) -> Self {
        let fail = Fail::retry("Faulty", format!("{verb:?} fails in this rehearsal"));
        Self {
            verb,
            uid: None,
            times: 1,
            kind: FaultKind::Refuse(fail),
        }
    }

    /// Calls of this kind take effect once without an answer.
    pub fn lost_reply(verb: Verb) -> Self {
        let fail = Fail::retry("Faulty", format!("the answer of {verb:?} is lost"));
        Self {
            verb,
            uid: None,
            times: 1,
            kind: FaultKind::LoseReply(fail),
        }
    }

    /// Calls of this kind about this pod hang, every time.
    pub fn hang(verb: Verb, uid: &PodUid) -> Self {
        Self {
            verb,
            uid: Some(uid.clone()),
            times: u32::MAX,
            kind: FaultKind::Hang,
        }
    }
}
