//! Answers that are kept for a while, and one question at a time for each key.

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_core::Fail;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use tokio::time::Instant;

/// An answer and how long it is kept.
pub(super) type Answer<V> = Result<(V, Duration), Fail>;

/// A question that several wait for.
type Question<V> = Shared<BoxFuture<'static, Answer<V>>>;

/// Answers by key.
pub(super) struct Answers<K, V> {
    most: usize,
    // A plain lock: held for a look-up, never over an await.
    state: Mutex<State<K, V>>,
}

struct State<K, V> {
    kept: HashMap<K, (V, Instant)>,
    asking: HashMap<K, (u64, Question<V>)>,
    next: u64,
}

impl<K, V> Answers<K, V>
where
    K: Clone + Eq + Hash,
    V: Clone + Send + Sync + 'static,
{
    /// At most so many are kept.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            state: Mutex::new(State {
                kept: HashMap::new(),
                asking: HashMap::new(),
                next: 0,
            }),
        }
    }

    /// The kept answer, or else that of the one question that is asked now. Safe to cancel: somebody else
    /// who waits for the same answer goes on with the question.
    pub(super) async fn answer<F>(&self, key: K, ask: impl FnOnce() -> F) -> Result<V, Fail>
    where
        F: Future<Output = Answer<V>> + Send + 'static,
    {
        let (number, asked) = {
            let mut state = self.state();
            let now = Instant::now();
            if let Some((value, _)) = state.kept.get(&key).filter(|(_, until)| now < *until) {
                return Ok(value.clone());
            }
            // One that everybody who asked it went away from is begun anew: its time stood still.
            state
                .asking
                .retain(|_, (_, asked)| asked.strong_count().unwrap_or(0) > 1);
            let number = state.next;
            let asked = state.asking.entry(key.clone());
            let asked = asked.or_insert_with(|| (number, ask().boxed().shared()));
            let asked = asked.clone();
            state.next += 1;
            asked
        };
        let answer = asked.await;
        let mut state = self.state();
        let ours = state.asking.get(&key).is_some_and(|(it, _)| *it == number);
        if ours {
            state.asking.remove(&key);
            if let Ok((value, keep)) = &answer {
                self.keep(&mut state, key, value.clone(), *keep);
            }
        }
        answer.map(|(value, _)| value)
    }

    fn keep(&self, state: &mut State<K, V>, key: K, value: V, keep: Duration) {
        if keep.is_zero() {
            return;
        }
        let now = Instant::now();
        if state.kept.len() >= self.most {
            state.kept.retain(|_, (_, until)| now < *until);
        }
        if state.kept.len() >= self.most {
            // Whoever calls most comes back soonest: what ends first goes first.
            let first = state.kept.iter().min_by_key(|(_, (_, until))| *until);
            if let Some(first) = first.map(|(key, _)| key.clone()) {
                state.kept.remove(&first);
            }
        }
        state.kept.insert(key, (value, now + keep));
    }

    fn state(&self) -> MutexGuard<'_, State<K, V>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
