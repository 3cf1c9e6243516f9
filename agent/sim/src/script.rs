//! What a container does in virtual time.

use std::collections::BTreeMap;
use std::time::Duration;

/// Behaviour of one container instance.
#[derive(Clone, Debug)]
pub struct Script {
    /// It ends by itself after this time with this exit code.
    pub ends: Option<(Duration, i32)>,
    /// What SIGTERM does.
    pub on_term: OnTerm,
    /// Commands in it, by first word: how long they take and how they end. Others succeed at once.
    pub commands: BTreeMap<String, (Duration, i32)>,
}

/// What a container does when it is asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnTerm {
    /// Ends after this time with code 0.
    Ends(Duration),
    /// Nothing, so that it has to be killed.
    Ignores,
}

impl Script {
    /// Runs until it is asked to end.
    pub fn forever() -> Self {
        Self {
            ends: None,
            on_term: OnTerm::Ends(Duration::from_millis(50)),
            commands: BTreeMap::new(),
        }
    }

    /// Runs for a while and ends with `code`.
    pub fn ends(after: Duration, code: i32) -> Self {
        Self {
            ends: Some((after, code)),
            ..Self::forever()
        }
    }

    /// Runs until it is killed.
    pub fn stubborn() -> Self {
        Self {
            on_term: OnTerm::Ignores,
            ..Self::forever()
        }
    }

    /// With a command that takes `takes` and ends with `code`.
    #[must_use]
    pub fn command(mut self, first_word: &str, takes: Duration, code: i32) -> Self {
        self.commands.insert(first_word.to_owned(), (takes, code));
        self
    }
}
