//! A driver gone mad.

use crate::bench::{Machine, Watched};

#[tokio::test]
async fn an_absurd_count_does_no_harm() {
    let machine = Machine::new("h200x8");
    machine.gpusim(&["set", "node", "device_count", "4000000000"]);
    let facts = Watched::start(machine.settings()).machine().await;
    assert_eq!(facts.gpus.len(), 8);
    let faults: Vec<_> = facts
        .silent
        .iter()
        .map(|silent| silent.fault.as_str())
        .collect();
    assert_eq!(
        faults,
        ["the driver counts 4000000000 GPUs; only 64 were looked at"]
    );
}

#[tokio::test]
async fn names_that_are_no_text_are_shown_as_what_they_are() {
    let machine = Machine::new("h200x8");
    machine.gpusim(&["set", "all", "name", r"\xff\xfe\x1b[2J"]);
    machine.gpusim(&["set", "node", "driver_version", r"\xff\x00"]);
    let (_, facts) = Watched::ready(&machine).await;
    assert_eq!(facts.gpus.len(), 8);
    assert_eq!(facts.gpus[0].name, "???[2J");
}

#[tokio::test]
async fn a_gpu_without_a_name_of_its_own_is_not_offered() {
    let machine = Machine::new("h200x8");
    machine.gpusim(&["set", "1", "uuid", r"\xff\xff/../../etc"]);
    machine.gpusim(&["set", "2", "uuid", ""]);
    machine.gpusim(&["set", "3", "memory.total", "0"]);
    let (_, facts) = Watched::ready(&machine).await;
    let good: Vec<u32> = facts.gpus.iter().map(|gpu| gpu.index).collect();
    assert_eq!(good, [0, 4, 5, 6, 7]);
    for (silent, word) in facts.silent.iter().zip(["no UUID", "no UUID", "0 bytes"]) {
        assert!(
            silent.fault.starts_with("the driver answers garbage"),
            "{silent:?}"
        );
        assert!(silent.fault.contains(word), "{silent:?}");
    }
}

#[tokio::test]
async fn of_two_with_one_uuid_only_one_is_offered() {
    let machine = Machine::new("h200x8");
    for gpu in ["4", "6"] {
        machine.gpusim(&[
            "set",
            gpu,
            "uuid",
            "GPU-11111111-2222-3333-4444-555555555555",
        ]);
    }
    let (_, facts) = Watched::ready(&machine).await;
    assert_eq!(facts.gpus.len(), 7);
    assert_eq!(facts.silent[0].index, 6);
    assert!(
        facts.silent[0].fault.contains("has the UUID of GPU 4"),
        "{:?}",
        facts.silent
    );
}
