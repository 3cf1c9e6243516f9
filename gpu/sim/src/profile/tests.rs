//! Every built-in profile is whole: sizes, symmetry, identities, sources.

use std::collections::BTreeSet;

use super::*;

fn machines() -> impl Iterator<Item = (&'static str, State)> {
    names().map(|name| {
        let machine = Profile::named(name).and_then(|profile| profile.machine(name, 0));
        (name, machine.unwrap_or_else(|error| panic!("{error}")))
    })
}

/// Number of links between each pair of GPUs.
fn peer_links(state: &State) -> Vec<Vec<usize>> {
    let to = |from: &Gpu, to: &Gpu| {
        from.nvlinks
            .iter()
            .filter(|link| link.remote_pci == to.pci.address)
            .count()
    };
    state
        .gpus
        .iter()
        .map(|from| state.gpus.iter().map(|other| to(from, other)).collect())
        .collect()
}

#[test]
fn names_tell_the_number_of_gpus() {
    for (name, state) in machines() {
        let number = name
            .rsplit('x')
            .next()
            .and_then(|digits| digits.parse().ok());
        assert_eq!(Some(state.gpus.len()), number, "{name}");
        assert!(
            state.node.source.len() > 100,
            "{name} tells where its values come from"
        );
    }
}

#[test]
fn distances_are_square_symmetric_and_known() {
    for (name, state) in machines() {
        let number = state.gpus.len();
        assert_eq!(state.topology.len(), number, "{name}");
        for (from, row) in state.topology.iter().enumerate() {
            assert_eq!(row.len(), number, "{name} row {from}");
            for (to, distance) in row.iter().enumerate() {
                assert_eq!(distance, &state.topology[to][from], "{name} {from} {to}");
                assert_eq!(distance == "X", from == to, "{name} {from} {to}");
                assert!(["X", "PIX", "PXB", "PHB", "NODE", "SYS"].contains(&distance.as_str()));
            }
        }
    }
}

#[test]
fn identities_are_unique_and_depend_on_the_seed_only() {
    for (name, state) in machines() {
        let profile = Profile::named(name).expect("built in");
        let uuids = |state: &State| -> BTreeSet<String> {
            state.gpus.iter().map(|gpu| gpu.uuid.to_string()).collect()
        };
        let serials: BTreeSet<String> = state
            .gpus
            .iter()
            .map(|gpu| gpu.serial.to_string())
            .collect();
        let addresses: BTreeSet<String> = state
            .gpus
            .iter()
            .map(|gpu| gpu.pci.address.to_string())
            .collect();
        let number = state.gpus.len();
        assert_eq!(
            (uuids(&state).len(), serials.len(), addresses.len()),
            (number, number, number)
        );
        assert!(
            uuids(&state)
                .iter()
                .all(|uuid| uuid.len() == 40 && uuid.starts_with("GPU-"))
        );
        assert_eq!(profile.machine(name, 0).expect("valid"), state);
        let other = profile.machine(name, 1).expect("valid");
        assert!(uuids(&other).is_disjoint(&uuids(&state)));
    }
}

#[test]
fn switched_machines_have_all_links_to_switches() {
    let expected = [
        ("h200x8", 18),
        ("h100x8", 18),
        ("b200x8", 18),
        ("gb200x4", 18),
        ("a100-80x8", 12),
        ("a100-40x8", 12),
    ];
    for (name, state) in machines() {
        let wanted = expected
            .iter()
            .find(|(known, _)| *known == name)
            .map_or(0, |(_, links)| *links);
        for gpu in &state.gpus {
            let switched = gpu
                .nvlinks
                .iter()
                .filter(|link| link.remote == RemoteKind::Switch);
            assert_eq!(switched.count(), wanted, "{name} GPU {}", gpu.minor);
        }
    }
}

#[test]
fn the_hybrid_cube_mesh_is_that_of_the_dgx_1() {
    let (_, state) = machines()
        .find(|(name, _)| *name == "v100x8")
        .expect("built in");
    let links = peer_links(&state);
    assert_eq!(links[0], [0, 1, 1, 2, 2, 0, 0, 0]);
    for (from, row) in links.iter().enumerate() {
        assert_eq!(row.iter().sum::<usize>(), 6, "a V100 has six links");
        for (to, number) in row.iter().enumerate() {
            assert_eq!(*number, links[to][from]);
        }
    }
}

#[test]
fn bridged_pairs_have_twelve_links_and_both_ends_agree() {
    let (_, state) = machines()
        .find(|(name, _)| *name == "a100-pciex4")
        .expect("built in");
    let pairs = [[0, 12, 0, 0], [12, 0, 0, 0], [0, 0, 0, 12], [0, 0, 12, 0]];
    assert_eq!(peer_links(&state), pairs);
    for gpu in &state.gpus {
        for (number, link) in gpu.nvlinks.iter().enumerate() {
            let far = state
                .gpus
                .iter()
                .find(|other| other.pci.address == link.remote_pci);
            let far_link =
                far.and_then(|far| far.nvlinks.get(usize::try_from(link.remote_link).ok()?));
            let back = far_link.map(|link| (link.remote_pci.clone(), link.remote_link));
            assert_eq!(
                back,
                Some((
                    gpu.pci.address.clone(),
                    u32::try_from(number).expect("small")
                ))
            );
        }
    }
}

#[test]
fn mig_tables_fit_the_gpu() {
    for (name, state) in machines() {
        let can = state.gpus.iter().filter(|gpu| gpu.mig.is_some()).count();
        assert_eq!(
            can,
            if state.mig_profiles.is_empty() {
                0
            } else {
                state.gpus.len()
            },
            "{name}"
        );
        for profile in &state.mig_profiles {
            let ends = profile.starts.iter().map(|start| start + profile.size);
            assert!(
                ends.max().is_some_and(|end| end <= 8),
                "{name} {}",
                profile.name
            );
            let total = state.gpus[0].memory.total / 1024 / 1024;
            assert!(profile.memory_mib <= total, "{name} {}", profile.name);
            assert!(profile.multiprocessors <= state.gpus[0].multiprocessors);
        }
    }
}

#[test]
fn readings_are_within_their_limits() {
    for (name, state) in machines() {
        for gpu in &state.gpus {
            assert!(gpu.memory.reserved < gpu.memory.total, "{name}");
            assert!(
                (gpu.power.min_limit..=gpu.power.max_limit).contains(&gpu.power.limit),
                "{name}"
            );
            assert!(gpu.clocks.graphics <= gpu.clocks.max_graphics, "{name}");
            assert!(
                u32::try_from(gpu.temperature.gpu).is_ok_and(|now| now < gpu.temperature.slowdown)
            );
        }
    }
}

#[test]
fn an_unknown_name_is_answered_with_the_known_ones() {
    let error = Profile::named("h300")
        .expect_err("no such profile")
        .to_string();
    assert!(
        error.contains("h300") && error.contains("h200x8"),
        "{error}"
    );
}
