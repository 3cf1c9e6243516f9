//! Which GPUs to give: a repeatable choice of the best joined set.
//!
//! # The rule
//!
//! Of all sets that contain `required`, else only GPUs of `free`, and have `count` members, the one
//! with the smallest [`Score`] is chosen. A score is compared field by field, in this order:
//!
//! | # | Field | Over | Better |
//! |---|---|---|---|
//! | 1 | `islands`: groups that NVLink pairs (`links > 0`) hold together | the set | smaller |
//! | 2 | `links`: sum of [`Pair::links`] | pairs of the set | larger |
//! | 3 | `distance`: sum of PCIe levels, `Internal` 0 to `System` 5 | pairs of the set | smaller |
//! | 4 | `numa_crossings`: pairs with `same_numa == false` | pairs of the set | smaller |
//! | 5 | `links_left`: as 2 | pairs of what stays free | larger |
//! | 6 | `distance_left`: as 3 | pairs of what stays free | smaller |
//! | 7 | `numa_crossings_left`: as 4 | pairs of what stays free | smaller |
//!
//! Pairs are unordered. What stays free is `free` without the set. Fields 5 to 7 keep large groups
//! whole: a group of four has six near pairs, two groups of two only two. Between equal scores the
//! set whose sorted positions come first in lexicographic order wins. On NVSwitch machines all pairs
//! have the same links, so fields 3 to 7 decide; in a choice of one GPU only 5 to 7 do.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt;

use crate::ids::GpuUuid;
use crate::topology::{Pair, Topology};

/// Sets that are compared at most: all sets of 8 of 16, the most for any request up to 16 GPUs. Up
/// to here the choice is exact. Above, a bounded search takes its place: from each free GPU a set is
/// grown by the GPU that gives the smallest fields 1 to 4, and the best of these sets is chosen.
const EXACT_LIMIT: usize = 12_870;

/// A chosen set and why it was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The GPUs by position.
    pub gpus: Vec<GpuUuid>,
    /// Score of the set.
    pub score: Score,
    /// How many sets were compared.
    pub compared: usize,
    /// All possible sets were compared.
    pub exact: bool,
}

/// How good a set is; see the module for the fields. `Ord`: smaller is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "the table in the module documentation explains each"
)]
pub struct Score {
    pub islands: u32,
    pub links: u32,
    pub distance: u32,
    pub numa_crossings: u32,
    pub links_left: u32,
    pub distance_left: u32,
    pub numa_crossings_left: u32,
}

/// Chooses `count` GPUs. `None` when there is no such set: too few GPUs, more required than asked
/// for, or a GPU that the topology does not know.
pub fn select(
    topology: &Topology,
    free: &BTreeSet<GpuUuid>,
    required: &BTreeSet<GpuUuid>,
    count: usize,
) -> Option<Choice> {
    let positions = |gpus: &mut dyn Iterator<Item = &GpuUuid>| -> Option<Vec<usize>> {
        let mut found = gpus
            .map(|gpu| topology.position(gpu))
            .collect::<Option<Vec<_>>>()?;
        found.sort_unstable();
        Some(found)
    };
    let required = positions(&mut required.iter())?;
    let mut free = positions(&mut free.iter())?;
    free.retain(|gpu| !required.contains(gpu));
    let missing = count
        .checked_sub(required.len())
        .filter(|missing| *missing <= free.len())?;
    let exact = sets(free.len(), missing) <= EXACT_LIMIT;
    let sums = Sums::among(topology, &required);
    let mut search = Search {
        topology,
        free: &free,
        chosen: required,
        best: None,
        compared: 0,
    };
    if exact {
        search.enumerate(0, missing, sums);
    } else {
        search.grow(missing, sums);
    }
    let (score, mut chosen) = search.best?;
    chosen.sort_unstable();
    let gpus = chosen
        .iter()
        .filter_map(|at| topology.gpus().get(*at).cloned())
        .collect();
    Some(Choice {
        gpus,
        score,
        compared: search.compared,
        exact,
    })
}

/// Number of sets of `k` of `n`, saturating.
fn sets(n: usize, k: usize) -> usize {
    let k = k.min(n - k);
    (1..=k).fold(1_usize, |total, i| total.saturating_mul(n - k + i) / i)
}

struct Search<'a> {
    topology: &'a Topology,
    free: &'a [usize],
    /// The set that is being built, what is required first.
    chosen: Vec<usize>,
    best: Option<(Score, Vec<usize>)>,
    compared: usize,
}

impl Search<'_> {
    /// Compares all sets, in lexicographic order of positions, so that the first of equals wins.
    fn enumerate(&mut self, from: usize, missing: usize, sums: Sums) {
        if missing == 0 {
            return self.compare(sums);
        }
        // Enough GPUs must stay behind the chosen one to fill the set.
        let end = self.free.len() + 1 - missing;
        for (at, gpu) in self.free.iter().enumerate().take(end).skip(from) {
            let grown = sums.with(self.topology, &self.chosen, *gpu);
            self.chosen.push(*gpu);
            self.enumerate(at + 1, missing - 1, grown);
            self.chosen.pop();
        }
    }

    /// Compares one grown set for each free GPU.
    fn grow(&mut self, missing: usize, start: Sums) {
        let required = self.chosen.clone();
        for seed in self.free {
            let mut sums = start.with(self.topology, &self.chosen, *seed);
            self.chosen.push(*seed);
            for _ in 1..missing {
                let Some((gpu, grown)) = self.best_next(sums) else {
                    break;
                };
                self.chosen.push(gpu);
                sums = grown;
            }
            self.compare(sums);
            self.chosen.clone_from(&required);
        }
    }

    /// The free GPU that makes fields 1 to 4 smallest when it is added; the first of equals.
    fn best_next(&mut self, sums: Sums) -> Option<(usize, Sums)> {
        let mut best: Option<(Score, usize, Sums)> = None;
        for gpu in self.free {
            if self.chosen.contains(gpu) {
                continue;
            }
            let grown = sums.with(self.topology, &self.chosen, *gpu);
            self.chosen.push(*gpu);
            let score = grown.score(islands(self.topology, &self.chosen));
            self.chosen.pop();
            if best.is_none_or(|(best, ..)| score < best) {
                best = Some((score, *gpu, grown));
            }
        }
        best.map(|(_, gpu, sums)| (gpu, sums))
    }

    fn compare(&mut self, sums: Sums) {
        self.compared += 1;
        let mut score = sums.score(islands(self.topology, &self.chosen));
        // Fields 5 to 7 cost most, so they are left out where 1 to 4 decide already.
        if self
            .best
            .as_ref()
            .is_some_and(|(best, _)| score.inner() > best.inner())
        {
            return;
        }
        let left = self
            .free
            .iter()
            .filter(|gpu| !self.chosen.contains(gpu))
            .copied();
        let left = Sums::among(self.topology, &left.collect::<Vec<_>>());
        score.links_left = left.links;
        score.distance_left = left.distance;
        score.numa_crossings_left = left.numa_crossings;
        let mut sorted = self.chosen.clone();
        sorted.sort_unstable();
        let candidate = (score, sorted);
        if self.best.as_ref().is_none_or(|best| candidate < *best) {
            self.best = Some(candidate);
        }
    }
}

/// Sums over the pairs of a set.
#[derive(Clone, Copy, Default)]
struct Sums {
    links: u32,
    distance: u32,
    numa_crossings: u32,
}

impl Sums {
    fn among(topology: &Topology, gpus: &[usize]) -> Self {
        let mut sums = Self::default();
        for (at, gpu) in gpus.iter().enumerate() {
            sums = sums.with(topology, gpus.get(..at).unwrap_or_default(), *gpu);
        }
        sums
    }

    /// The sums when `gpu` joins `members`: only its own pairs are looked at.
    fn with(mut self, topology: &Topology, members: &[usize], gpu: usize) -> Self {
        for member in members {
            if let Some(Pair {
                links,
                level,
                same_numa,
            }) = topology.pair(*member, gpu)
            {
                self.links = self.links.saturating_add(links);
                self.distance += level as u32;
                self.numa_crossings += u32::from(!same_numa);
            }
        }
        self
    }

    fn score(self, islands: u32) -> Score {
        let Self {
            links,
            distance,
            numa_crossings,
        } = self;
        Score {
            islands,
            links,
            distance,
            numa_crossings,
            ..Score::default()
        }
    }
}

/// Groups that NVLink pairs hold together.
fn islands(topology: &Topology, gpus: &[usize]) -> u32 {
    let mut unseen = gpus.to_vec();
    let mut edge = Vec::with_capacity(gpus.len());
    let mut islands = 0;
    while let Some(start) = unseen.pop() {
        islands += 1;
        edge.push(start);
        while let Some(from) = edge.pop() {
            let joined = |to: &usize| topology.pair(from, *to).is_some_and(|pair| pair.links > 0);
            edge.extend(unseen.extract_if(.., |to| joined(to)));
        }
    }
    islands
}

impl Score {
    /// Fields 1 to 4.
    fn inner(&self) -> impl Ord + use<> {
        (
            self.islands,
            Reverse(self.links),
            self.distance,
            self.numa_crossings,
        )
    }
}

impl Ord for Score {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let left = |s: &Self| {
            (
                Reverse(s.links_left),
                s.distance_left,
                s.numa_crossings_left,
            )
        };
        (self.inner(), left(self)).cmp(&(other.inner(), left(other)))
    }
}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Score {
            islands,
            links,
            distance,
            numa_crossings,
            ..
        } = self.score;
        let Score {
            links_left,
            distance_left,
            numa_crossings_left,
            ..
        } = self.score;
        let best = if self.exact { "best" } else { "best found" };
        write!(
            f,
            "NVLink islands {islands}, NVLinks {links}, PCIe distance {distance}, pairs across NUMA \
             nodes {numa_crossings}; left free: NVLinks {links_left}, PCIe distance {distance_left}, pairs \
             across NUMA nodes {numa_crossings_left}; {best} of {} sets",
            self.compared,
        )
    }
}

#[cfg(test)]
mod tests;
