//! A map that forgets what was not used for longest.

use std::collections::HashMap;
use std::hash::Hash;

/// At most `limit` entries.
#[derive(Debug)]
pub(super) struct Recent<K, V> {
    limit: usize,
    uses: u64,
    entries: HashMap<K, (u64, V)>,
}

impl<K: Hash + Eq + Clone, V> Recent<K, V> {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit: limit.max(1),
            uses: 0,
            entries: HashMap::new(),
        }
    }

    /// The entry of `key`, made if there is none.
    pub(super) fn entry(&mut self, key: &K, make: impl FnOnce() -> V) -> &mut V {
        if !self.entries.contains_key(key) && self.entries.len() >= self.limit {
            self.drop_oldest();
        }
        self.uses += 1;
        let uses = self.uses;
        let entry = self
            .entries
            .entry(key.clone())
            .or_insert_with(|| (uses, make()));
        entry.0 = uses;
        &mut entry.1
    }

    /// A look at all entries, but only when the map is full, which a node of usual size never is.
    fn drop_oldest(&mut self) {
        let oldest = self.entries.iter().min_by_key(|(_, (used, _))| *used);
        if let Some(key) = oldest.map(|(key, _)| key.clone()) {
            self.entries.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_last_stays() {
        let mut map = Recent::new(2);
        *map.entry(&"a", || 0) += 1;
        *map.entry(&"b", || 0) += 1;
        *map.entry(&"a", || 0) += 1;
        *map.entry(&"c", || 0) += 1;
        assert_eq!(*map.entry(&"a", || 0), 2, "used after b");
        assert_eq!(*map.entry(&"b", || 0), 0, "forgotten for c");
    }
}
