#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;

use crate::testing::{Scene, at, container, id, observation};
use crate::{Observation, PodHave, PodMemory, RunState, SandboxId, observe};

/// What is known after these looks, one after the other.
fn after(looks: &[Observation]) -> (PodHave, PodMemory) {
    let mut known = (PodHave::default(), PodMemory::default());
    for look in looks {
        observe(&mut known.0, &mut known.1, look);
    }
    known
        .0
        .containers
        .sort_by(|one, other| one.id.cmp(&other.id));
    known
}

fn partial(seconds: u64, text: &str) -> Observation {
    Observation {
        whole: false,
        ..observation(seconds, text)
    }
}

#[test]
fn states_only_move_forward_and_details_stay() {
    let (have, _) = after(&[
        observation(1, "s0? c.0+"),
        observation(2, "s0 c.0=7"),
        // Late: an earlier look, and a listing without details.
        observation(1, "s0? c.0"),
        observation(3, "s0- c.0=?"),
        observation(4, "s0!"),
    ]);
    assert!(
        !have.sandboxes[0].ready,
        "a sandbox does not become ready again"
    );
    let network = have.sandboxes[0].network.as_ref().expect("kept");
    assert_eq!(network.ips, ["10.0.0.9"]);
    assert_eq!(have.containers.len(), 0, "the last look does not show it");
    let (have, memory) = after(&[observation(2, "s0 c.0=7"), observation(3, "s0 c.0")]);
    assert_eq!(have.containers[0].state, RunState::Exited);
    assert_eq!(
        have.containers[0].exit.as_ref().map(|exit| exit.code),
        Some(7)
    );
    assert_eq!(memory.ended[&id("c.0")], at(2));
}

#[test]
fn only_a_later_whole_look_takes_away() {
    let (have, _) = after(&[observation(1, "s0 c.0"), partial(2, "s0")]);
    assert_eq!(have.containers.len(), 1, "an event shows less");
    let (have, _) = after(&[partial(5, "s0 c.0"), observation(4, "s0")]);
    assert_eq!(
        have.containers.len(),
        1,
        "a look that began before it was seen"
    );
    let (have, memory) = after(&[observation(1, "s0 c.3"), observation(2, "s0")]);
    assert_eq!(have.containers.len(), 0);
    let gone = &memory.gone[&container("c")];
    assert_eq!(
        (gone.attempt, gone.exit.as_ref().map(|exit| exit.code)),
        (3, Some(137))
    );
}

#[test]
fn late_news_do_not_bring_back_what_is_gone() {
    let (have, memory) = after(&[
        observation(1, "s0 c.0"),
        observation(3, "s0"),
        partial(2, "s0 c.0"),
        partial(2, "s0 d.0+"),
    ]);
    assert!(have.containers.is_empty());
    assert_eq!(memory.gone[&container("c")].state, RunState::Exited);
    assert_eq!(
        memory.gone[&container("d")].state,
        RunState::Created,
        "that one never ran"
    );
    // It was removed by an action; an event tells of its end afterwards.
    let mut scene = Scene::running("main:c", "s0 c.1 c.0=1");
    scene.memory.messages.insert(id("c.0"), String::new());
    scene.stop(0, None);
    scene.play(0);
    observe(
        &mut scene.have,
        &mut scene.memory,
        &partial(1, "s0- c.1=143"),
    );
    assert_eq!(
        (scene.have.sandboxes.len(), scene.have.containers.len()),
        (0, 0)
    );
    assert_eq!(scene.wave(1), "");
}

#[test]
fn a_container_that_is_there_after_all_is_believed() {
    let (have, memory) = after(&[
        observation(1, "s0 c.0"),
        observation(2, "s0"),
        observation(3, "s0 c.0"),
    ]);
    assert_eq!(have.containers[0].state, RunState::Running);
    assert!(memory.gone.is_empty());
}

#[test]
fn newest_sandbox_first() {
    let (have, _) = after(&[observation(1, "s0- s2 s1-")]);
    let names: Vec<_> = have.sandboxes.iter().map(|each| each.id.clone()).collect();
    assert_eq!(names, ["s2", "s1", "s0"].map(SandboxId::new));
}

#[test]
fn memory_does_not_grow_with_restarts() {
    let mut known = (PodHave::default(), PodMemory::default());
    for attempt in 0..200_u64 {
        let text = format!("s0 c.{} c.{}=1", attempt + 1, attempt);
        observe(&mut known.0, &mut known.1, &observation(attempt, &text));
    }
    let memory = &known.1;
    let sizes = [
        memory.seen.len(),
        memory.ended.len(),
        memory.gone.len(),
        memory.removed.len(),
    ];
    assert!(sizes.iter().all(|size| *size <= 3), "{sizes:?}");
}

/// A sandbox and two containers, each in one of their states, as one look shows them.
fn any_look() -> impl Strategy<Value = Observation> {
    let sandbox = prop_oneof![Just("s0"), Just("s0?"), Just("s0-")];
    let state = || prop_oneof![Just("+"), Just(""), Just("=?"), Just("=3")];
    (sandbox, state(), state(), 0..9_u64).prop_map(|(sandbox, one, other, seconds)| {
        partial(seconds, &format!("{sandbox} a.0{one} b.0{other}"))
    })
}

proptest! {
    #[test]
    fn the_order_of_looks_does_not_matter(looks in prop::collection::vec(any_look(), 1..6), seed in any::<u64>()) {
        let mut shuffled = looks.clone();
        // A permutation that depends on the seed only.
        for at in (1..shuffled.len()).rev() {
            let other = seed.rotate_left(u32::try_from(at).unwrap() * 7) % (at as u64 + 1);
            shuffled.swap(at, usize::try_from(other).unwrap());
        }
        let (mut one, mut other) = (after(&looks).0, after(&shuffled).0);
        // Of several details about one end or one network the first to arrive is kept.
        for have in [&mut one, &mut other] {
            for container in &mut have.containers {
                if let Some(exit) = &mut container.exit {
                    exit.finished_at = at(0);
                }
            }
        }
        prop_assert_eq!(one, other);
    }

    #[test]
    fn a_look_twice_is_a_look_once(looks in prop::collection::vec(any_look(), 1..6)) {
        let doubled: Vec<_> = looks.iter().flat_map(|look| [look.clone(), look.clone()]).collect();
        prop_assert_eq!(after(&looks), after(&doubled));
    }

    #[test]
    fn whole_looks_that_come_late_change_nothing(first in 5..9_u64, late in 0..5_u64) {
        let now = observation(first, "s0 a.1 a.0=1");
        let mut looks = vec![now.clone()];
        let known = after(&looks);
        looks.push(observation(late, "s0? a.0"));
        let afterwards = after(&looks).0;
        prop_assert_eq!(known.0.containers.len(), afterwards.containers.len());
        prop_assert_eq!(&known.0.sandboxes[0].network, &afterwards.sandboxes[0].network);
    }
}
