//! Random histories of holds, releases, faults and crashes.

use std::collections::BTreeMap;

use gpu_model::{GpuUuid, HealthState, ProbeReport};
use proptest::prelude::*;

use crate::story::{Disk, Story, good, machine, uuid, view};

const GPUS: u32 = 5;

#[derive(Clone, Debug)]
enum Step {
    Hold(u32, usize),
    Release(u32),
    Xid(u32, u64),
    Lost(u32),
    Read(u32),
    Crash { boot: bool },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let xids = prop::sample::select(vec![13, 79, 95, 999]);
    let step = prop_oneof![
        6 => (0_u32..6, 1_usize..5).prop_map(|(pod, count)| Step::Hold(pod, count)),
        3 => (0_u32..6).prop_map(Step::Release),
        1 => (0..GPUS, xids).prop_map(|(gpu, code)| Step::Xid(gpu, code)),
        1 => (0..GPUS).prop_map(Step::Lost),
        1 => (0..GPUS).prop_map(Step::Read),
        2 => any::<bool>().prop_map(|boot| Step::Crash { boot }),
    ];
    prop::collection::vec(step, 1..30)
}

/// What the test knows to be true, from the keeper's answers alone.
struct Truth {
    held: BTreeMap<u32, Vec<GpuUuid>>,
    boots: u32,
}

impl Truth {
    async fn step(&mut self, mut story: Story, step: Step) -> Story {
        match step {
            Step::Hold(pod, count) => self.hold(&story, pod, count).await,
            Step::Release(pod) => {
                story.release(&format!("pod-{pod}")).await;
                self.held.remove(&pod);
            }
            Step::Xid(gpu, code) => {
                story.xid(Some(gpu), code).await;
                if [79, 95].contains(&code) {
                    story.until_state(gpu, HealthState::Unhealthy).await;
                }
            }
            Step::Lost(gpu) => {
                story
                    .tell(ProbeReport::Lost {
                        gpu: uuid(gpu),
                        code: 15,
                    })
                    .await;
                story.until_state(gpu, HealthState::Unhealthy).await;
            }
            Step::Read(gpu) => story.read(gpu, good()).await,
            Step::Crash { boot } => {
                self.boots += u32::from(boot);
                let disk = story.crash();
                story = Story::start_in(disk, &format!("boot-{}", self.boots));
                story.bring_up(&machine(GPUS)).await;
                story.keeper.adopt(Vec::new()).await;
            }
        }
        self.check(&story);
        story
    }

    async fn hold(&mut self, story: &Story, pod: u32, count: usize) {
        let free: Vec<GpuUuid> = {
            let snapshot = story.snapshot();
            let usable = |n: &u32| view(&snapshot, *n).unwrap().health <= HealthState::Degraded;
            let taken = |n: &u32| self.held.values().flatten().any(|gpu| *gpu == uuid(*n));
            (0..GPUS)
                .filter(usable)
                .filter(|n| !taken(n))
                .map(uuid)
                .collect()
        };
        let answer = story.hold(&format!("pod-{pod}"), count).await;
        match (self.held.get(&pod), answer) {
            (Some(before), Ok(gpus)) => assert_eq!(*before, gpus),
            (Some(before), Err(_)) => assert_ne!(before.len(), count, "its own GPUs were refused"),
            (None, Ok(gpus)) => {
                assert_eq!(gpus.len(), count);
                assert!(
                    gpus.iter().all(|gpu| free.contains(gpu)),
                    "{gpus:?} of {free:?}"
                );
                self.held.insert(pod, gpus);
            }
            (None, Err(refusal)) => assert!(count > free.len(), "{refusal:?} with {free:?} free"),
        }
    }

    /// The snapshot shows every holding and nothing else, each GPU with one holder at most.
    fn check(&self, story: &Story) {
        let snapshot = story.snapshot();
        for n in 0..GPUS {
            let shown = crate::story::holder_names(&snapshot, n);
            let known = self.held.iter().filter(|(_, gpus)| gpus.contains(&uuid(n)));
            let known: Vec<_> = known.map(|(pod, _)| format!("default/pod-{pod}")).collect();
            assert_eq!(shown, known, "GPU {n}");
            assert!(known.len() <= 1);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_gpu_ever_has_two_holders_and_no_answer_is_forgotten(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut story = Story::start_in(Disk::new(GPUS), "boot-0");
            story.bring_up(&machine(GPUS)).await;
            story.keeper.adopt(Vec::new()).await;
            let mut truth = Truth { held: BTreeMap::new(), boots: 0 };
            for step in steps {
                story = truth.step(story, step).await;
            }
        });
    }
}
