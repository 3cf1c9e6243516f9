//! One look at all files: what changed is read and parsed, everything else stays as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use agent_loops::ports::{SourceProblem, SourceSnapshot};
use base_ledger::StoreError;
use tracing::warn;

use super::assemble::{self, Entry, Good};
use super::read::{self, ReadError, Stamp};
use super::record::{self, Record};
use super::{FileSourceSettings, SETTLED, list};
use crate::manifest::{self, Origin};

/// How closely to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// Read what has another stamp, or was told of.
    Changed,
    /// Read everything.
    Full,
}

/// Result of one look.
#[derive(Debug)]
pub(super) struct Outcome {
    /// The new snapshot, if it differs from the one before.
    pub(super) changed: Option<SourceSnapshot>,
    /// A file may still be being written: look again soon.
    pub(super) unsettled: bool,
}

/// Everything known about the files.
#[derive(Debug)]
pub(super) struct Scanner {
    pub(super) settings: FileSourceSettings,
    entries: BTreeMap<PathBuf, Entry>,
    /// What was read last of each file, so that nothing is read or parsed twice.
    seen: BTreeMap<PathBuf, Seen>,
    /// What the record held, until the first look.
    recorded: Record,
    /// What is wrong with the record.
    damage: Option<String>,
    sent: Option<SourceSnapshot>,
}

#[derive(Debug, Default)]
struct Seen {
    stamp: Option<Stamp>,
    content: Option<Arc<[u8]>>,
}

/// Of one file: what is wrong with it, and what its author should know.
#[derive(Debug)]
pub(crate) struct Remarks {
    pub(crate) path: PathBuf,
    pub(crate) error: Option<String>,
    pub(crate) warnings: Vec<String>,
}

/// Reads and parses everything at `path` once, for a person to look at.
pub(crate) fn look(path: &Path, node: &str) -> io::Result<Vec<Remarks>> {
    let mut entries = BTreeMap::new();
    let mut remarks = Vec::new();
    for file in list::candidates(path)? {
        let content = read::stamp(&file).and_then(|_| read::content(&file));
        let (newest, warnings) = match content {
            Ok(content) => parse(&file, node, content.into()),
            Err(ReadError::Gone) => continue,
            Err(error) => (Err(error.to_string()), Vec::new()),
        };
        entries.insert(file.clone(), Entry { newest, used: None });
        remarks.push(Remarks {
            path: file,
            error: None,
            warnings,
        });
    }
    for problem in assemble::settle(&mut entries) {
        for remark in remarks
            .iter_mut()
            .filter(|remark| remark.path == problem.path)
        {
            remark.error = Some(problem.message.clone());
        }
    }
    Ok(remarks)
}

fn parse(path: &Path, node: &str, text: Arc<[u8]>) -> (Result<Good, String>, Vec<String>) {
    match manifest::parse(&text, Origin { path, node }) {
        Ok(parsed) => (
            Ok(Good {
                text,
                pod: parsed.pod,
            }),
            parsed.warnings,
        ),
        Err(error) => (Err(error.to_string()), Vec::new()),
    }
}

impl Scanner {
    /// Reads the record of last good manifests; the files themselves come with the first look.
    pub(super) fn open(settings: FileSourceSettings) -> Self {
        let (recorded, damage) = record::load(&settings.record);
        Self {
            settings,
            entries: BTreeMap::new(),
            seen: BTreeMap::new(),
            recorded,
            damage,
            sent: None,
        }
    }

    /// Looks once. `written`: files that an event says are complete. `blind`: why changes are not
    /// told by events.
    pub(super) fn scan(
        &mut self,
        depth: Depth,
        written: &[PathBuf],
        blind: Option<io::Error>,
    ) -> Outcome {
        let mut problems = Vec::new();
        let mut unsettled = false;
        match list::candidates(&self.settings.path) {
            Ok(paths) => {
                let present: BTreeSet<&PathBuf> = paths.iter().collect();
                self.entries.retain(|path, _| present.contains(path));
                self.seen.retain(|path, _| present.contains(path));
                for path in &paths {
                    unsettled |= !self.file(path, depth, written.contains(path));
                }
                self.recorded = Record::default();
            }
            // Nothing is known about the files now, so nothing changes for their pods.
            Err(error) => problems.push(self.about_folder(format!("it cannot be read: {error}"))),
        }
        if let Some(error) = blind {
            let period = self.settings.period.as_secs_f32();
            problems.push(self.about_folder(format!(
                "changes are noticed only every {period} s, the system gives no events: {error}"
            )));
        }
        if let Some(message) = &self.damage {
            let (path, message) = (self.settings.record.clone(), message.clone());
            problems.push(SourceProblem {
                path,
                message,
                running_on: None,
            });
        }
        problems.extend(assemble::settle(&mut self.entries));
        Outcome {
            changed: self.snapshot(problems),
            unsettled,
        }
    }

    /// Writes the texts that pods run on.
    pub(super) fn store(&self) -> Result<(), StoreError> {
        let text = |used: &Good| String::from_utf8_lossy(&used.text).into_owned();
        let files = self
            .entries
            .iter()
            .filter_map(|(path, entry)| entry.used.as_ref().map(|used| (path.clone(), text(used))));
        record::store(
            &self.settings.record,
            &Record {
                files: files.collect(),
            },
        )
    }

    fn about_folder(&self, message: String) -> SourceProblem {
        SourceProblem {
            path: self.settings.path.clone(),
            message,
            running_on: None,
        }
    }

    /// The new snapshot if it differs from the last one.
    fn snapshot(&mut self, problems: Vec<SourceProblem>) -> Option<SourceSnapshot> {
        let used = self
            .entries
            .values()
            .filter_map(|entry| entry.used.as_ref());
        let snapshot = SourceSnapshot {
            pods: used.map(|used| used.pod.clone()).collect(),
            problems,
        };
        let same = self.sent.as_ref().is_some_and(|sent| {
            let pairs = sent.pods.iter().zip(&snapshot.pods);
            sent.problems == snapshot.problems
                && sent.pods.len() == snapshot.pods.len()
                && pairs
                    .into_iter()
                    .all(|(a, b)| Arc::ptr_eq(&a.manifest, &b.manifest))
        });
        if same {
            return None;
        }
        self.sent = Some(snapshot.clone());
        Some(snapshot)
    }

    /// Brings one file up to date. False: it may still be being written.
    fn file(&mut self, path: &Path, depth: Depth, complete: bool) -> bool {
        let first = !self.seen.contains_key(path);
        let seen = self.seen.entry(path.to_owned()).or_default();
        let stamp = match read::stamp(path) {
            Ok(stamp) => stamp,
            Err(ReadError::Gone) => {
                self.entries.remove(path);
                self.seen.remove(path);
                return true;
            }
            Err(error) => {
                *seen = Seen::default();
                self.judged(path, Err(error.to_string()));
                return true;
            }
        };
        if depth == Depth::Changed && seen.stamp == Some(stamp) && !complete {
            return true;
        }
        // Before the first snapshot everything counts as complete: nothing runs on an older content.
        let early = self.sent.is_none() && first;
        let young = stamp.is_younger_than(SETTLED, SystemTime::now());
        if young && !complete && !early && seen.stamp != Some(stamp) {
            if first {
                self.seen.remove(path);
            }
            return false;
        }
        seen.stamp = Some(stamp);
        let content: Arc<[u8]> = match read::content(path) {
            Ok(content) => content.into(),
            Err(error) => {
                *seen = Seen::default();
                self.judged(path, Err(error.to_string()));
                return true;
            }
        };
        if seen.content.as_ref() != Some(&content) {
            seen.content = Some(Arc::clone(&content));
            let newest = self.parsed(path, content);
            self.judged(path, newest);
        }
        true
    }

    /// Parses a content, unless it is the one that the pod runs on already.
    fn parsed(&mut self, path: &Path, content: Arc<[u8]>) -> Result<Good, String> {
        let recorded = self.recorded(path);
        let used = self
            .entries
            .get(path)
            .and_then(|entry| entry.used.clone())
            .or(recorded);
        if let Some(used) = used.filter(|used| used.text == content) {
            return Ok(used);
        }
        let (newest, warnings) = parse(path, &self.settings.node, content);
        for warning in warnings {
            warn!(path = %path.display(), "{warning}");
        }
        newest
    }

    /// Sets what the newest content of a file gives.
    fn judged(&mut self, path: &Path, newest: Result<Good, String>) {
        let recorded = self.recorded(path);
        match self.entries.get_mut(path) {
            Some(entry) => entry.newest = newest,
            None => {
                let used = match (&newest, recorded) {
                    // The same content: one pod object, so that it is not a change.
                    (Ok(newest), Some(used)) if newest.text == used.text => Some(newest.clone()),
                    (_, used) => used,
                };
                self.entries.insert(path.to_owned(), Entry { newest, used });
            }
        }
    }

    /// What the agent ran of this file before it was restarted.
    fn recorded(&self, path: &Path) -> Option<Good> {
        let text = self.recorded.files.get(path)?;
        let (good, _) = parse(path, &self.settings.node, text.as_bytes().into());
        good.inspect_err(|error| {
            warn!(path = %path.display(), error, "a recorded manifest is not usable any more");
        })
        .ok()
    }
}
