//! Two objects compared field by field, and the fields that may differ, each with its reason.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use e2e::Software;
use serde_json::Value;

/// When a field may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// Between any two starts of any agent.
    Always,
    /// Once the object was deleted and made again.
    MadeAgain,
    /// Between the stock kubelet and gpulet. It must differ, so that a row which is no longer true does not stay.
    Gpulet,
    /// Between the stock kubelet and gpulet on some machines.
    GpuletSomewhere,
}

/// A row of a table: a path in which `*` stands for anything, when it may differ, and why.
pub(super) type Row = (&'static str, When, &'static str);

/// What two objects are and how they came to be.
pub(super) struct Pair<'a> {
    /// What the message calls them.
    pub(super) what: &'a str,
    /// As the stock kubelet wrote it.
    pub(super) stock: &'a Value,
    /// As the agent under test wrote it.
    pub(super) ours: &'a Value,
    /// Which agent that is.
    pub(super) software: Software,
    /// Whether the object was deleted in between.
    pub(super) made_again: bool,
}

impl Pair<'_> {
    /// Whether they differ only where the table lets them.
    ///
    /// # Errors
    /// All differences that no row allows, and all rows of gpulet's that nothing differs in.
    pub(super) fn compare(&self, table: &[Row]) -> Result<()> {
        let (stock, ours) = (leaves(self.stock), leaves(self.ours));
        let mut differing: Vec<String> = stock.keys().chain(ours.keys()).cloned().collect();
        differing.sort();
        differing.dedup();
        differing.retain(|path| stock.get(path) != ours.get(path));
        let holds = |when: When| match when {
            When::Always => true,
            When::MadeAgain => self.made_again,
            When::Gpulet | When::GpuletSomewhere => self.software == Software::Gpulet,
        };
        let rows: Vec<&Row> = table.iter().filter(|(_, when, _)| holds(*when)).collect();
        let wrong = differing.iter().filter(|path| {
            let allowed = |row: &&&Row| matches(row.0, path);
            !rows.iter().any(|row| allowed(&row))
        });
        let mut words: Vec<String> = wrong
            .map(|path| format!("{path}: {:?} became {:?}", stock.get(path), ours.get(path)))
            .collect();
        let idle = rows.iter().filter(|(pattern, when, _)| {
            *when == When::Gpulet && !differing.iter().any(|path| matches(pattern, path))
        });
        words.extend(idle.map(|(pattern, _, why)| {
            format!("{pattern} does not differ, although the table says so ({why})")
        }));
        ensure!(words.is_empty(), "{}:\n{}", self.what, words.join("\n"));
        Ok(())
    }
}

/// Every value that is not an object or a list, by its path. What stands in a list goes by its type, name or key where
/// it has one, so that order is no difference there; and by its place otherwise.
fn leaves(object: &Value) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    // Lists leave out what kind their objects are.
    for part in ["metadata", "spec", "status"] {
        collect(&object[part], part.to_owned(), &mut found);
    }
    found
}

fn collect(value: &Value, path: String, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                collect(value, format!("{path}.{name}"), found);
            }
        }
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                let named = ["type", "name", "key"]
                    .iter()
                    .find_map(|key| item[*key].as_str());
                let name = named.map_or_else(|| place.to_string(), str::to_owned);
                collect(item, format!("{path}[{name}]"), found);
            }
        }
        leaf => drop(found.insert(path, leaf.to_string())),
    }
}

/// Whether the path is one that the pattern means.
fn matches(pattern: &str, path: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == path,
        Some((head, rest)) => path.strip_prefix(head).is_some_and(|tail| {
            (0..=tail.len())
                .filter_map(|at| tail.get(at..))
                .any(|tail| matches(rest, tail))
        }),
    }
}
