//! The best set by brute force: every set is scored anew from the simulator's own tables. It shares no line with the
//! agent; only the rule is the same, in this order: fewest NVLink islands, most links, least PCIe distance, fewest pairs
//! over NUMA nodes; then of what stays free most links, least distance, fewest such pairs; then the lowest PCI addresses.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

/// PCIe distances, near to far.
const LEVELS: [&str; 6] = ["X", "PIX", "PXB", "PHB", "NODE", "SYS"];

/// How the GPUs of a simulated machine are joined.
pub(super) struct Wiring {
    gpus: Vec<Gpu>,
    distance: Vec<Vec<usize>>,
}

struct Gpu {
    minor: u32,
    address: String,
    numa: u64,
    /// Addresses at the far ends of active links; a switch has none.
    links: Vec<Option<String>>,
}

/// Links, distance and pairs over NUMA nodes within a set.
type Sums = (Reverse<usize>, usize, usize);

impl Wiring {
    pub(super) fn read(state: &Path) -> Result<Wiring> {
        let state: Value = serde_json::from_str(&fs::read_to_string(state)?)?;
        let list = |value: &Value| value.as_array().cloned().context("a list");
        let gpus = list(&state["gpus"])?
            .iter()
            .map(Gpu::read)
            .collect::<Result<_>>()?;
        let mut distance = Vec::new();
        for row in list(&state["topology"])? {
            let place = |cell: &Value| LEVELS.iter().position(|level| cell == level);
            distance.push(
                list(&row)?
                    .iter()
                    .map(|cell| place(cell).context("a level"))
                    .collect::<Result<_>>()?,
            );
        }
        Ok(Wiring { gpus, distance })
    }

    /// Number of GPUs.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.gpus.len()).unwrap_or(u32::MAX)
    }

    /// Minor numbers of the best `count` of `free`.
    pub(super) fn best(&self, free: &BTreeSet<u32>, count: usize) -> Option<BTreeSet<u32>> {
        let mut candidates: Vec<usize> = (0..self.gpus.len())
            .filter(|at| free.contains(&self.gpus[*at].minor))
            .collect();
        candidates.sort_by_key(|at| &self.gpus[*at].address);
        let masks = 0..1_u32 << candidates.len();
        let sets = masks
            .filter(|mask| mask.count_ones() as usize == count)
            .map(|mask| {
                let inside = |place: usize| mask & (1 << place) != 0;
                let places = 0..candidates.len();
                let (chosen, left): (Vec<usize>, Vec<usize>) =
                    places.partition(|place| inside(*place));
                let gpus = |places: &[usize]| {
                    places
                        .iter()
                        .map(|place| candidates[*place])
                        .collect::<Vec<_>>()
                };
                let (set, rest) = (gpus(&chosen), gpus(&left));
                (
                    (
                        self.islands(&set),
                        self.sums(&set),
                        self.sums(&rest),
                        chosen,
                    ),
                    set,
                )
            });
        let (_, set) = sets.min()?;
        Some(set.into_iter().map(|at| self.gpus[at].minor).collect())
    }

    fn sums(&self, set: &[usize]) -> Sums {
        let mut sums = (0, 0, 0);
        for (n, a) in set.iter().enumerate() {
            for b in &set[n + 1..] {
                sums.0 += self.links(*a, *b);
                sums.1 += self.distance[*a][*b].max(self.distance[*b][*a]);
                sums.2 += usize::from(self.gpus[*a].numa != self.gpus[*b].numa);
            }
        }
        (Reverse(sums.0), sums.1, sums.2)
    }

    fn links(&self, a: usize, b: usize) -> usize {
        let (a, b) = (&self.gpus[a], &self.gpus[b]);
        let to = |from: &Gpu, far: &Option<String>| {
            from.links.iter().filter(|link| *link == far).count()
        };
        let direct = to(a, &Some(b.address.clone())).min(to(b, &Some(a.address.clone())));
        direct + to(a, &None).min(to(b, &None))
    }

    /// Groups that links hold together: joined again and again until nothing changes.
    fn islands(&self, set: &[usize]) -> usize {
        let mut group: Vec<usize> = (0..set.len()).collect();
        for _ in set {
            for n in 0..set.len() {
                for m in 0..set.len() {
                    if self.links(set[n], set[m]) > 0 {
                        let joined = group[n].min(group[m]);
                        group[n] = joined;
                        group[m] = joined;
                    }
                }
            }
        }
        group.into_iter().collect::<BTreeSet<_>>().len()
    }
}

impl Gpu {
    fn read(gpu: &Value) -> Result<Gpu> {
        let minor = u32::try_from(gpu["minor"].as_u64().context("a minor number")?)?;
        let address = gpu["pci"]["address"]
            .as_str()
            .context("an address")?
            .to_owned();
        let active = gpu["nvlinks"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|link| link["active"] == true);
        let links = active
            .filter_map(|link| match link["remote"].as_str()? {
                "gpu" => Some(Some(link["remote_pci"].as_str()?.to_owned())),
                "switch" => Some(None),
                _ => None,
            })
            .collect();
        Ok(Gpu {
            minor,
            address,
            numa: gpu["numa_node"].as_u64().unwrap_or_default(),
            links,
        })
    }
}
