use super::*;
use crate::monitor::tests::facts;

fn scan(
    told: u32,
    answers: &[(u32, GpuFacts)],
    failures: &[(u32, &str, Option<u32>)],
) -> MachineFacts {
    let mut scan = Scan::new(DriverFacts::default(), told);
    for index in 0..scan.count() {
        scan.wait_for(index);
    }
    for (index, facts) in answers {
        scan.found(*index, facts.clone());
    }
    for (index, why, code) in failures {
        scan.failed(*index, (*why).to_owned(), *code);
    }
    scan.assemble(|index| (index == 1).then(|| GpuUuid::new("GPU-1")))
}

#[test]
fn a_silent_gpu_keeps_the_uuid_it_was_known_by() {
    let machine = scan(2, &[(0, facts(0))], &[(1, "it hangs", None)]);
    let expected = SilentGpu {
        index: 1,
        uuid: Some(GpuUuid::new("GPU-1")),
        fault: "it hangs".to_owned(),
    };
    assert_eq!((machine.gpus.len(), machine.silent), (1, vec![expected]));
}

#[test]
fn a_uuid_that_turned_up_elsewhere_says_nothing_about_a_silent_gpu() {
    let moved = GpuFacts {
        index: 0,
        ..facts(1)
    };
    let machine = scan(2, &[(0, moved)], &[(1, "it hangs", None)]);
    assert_eq!(
        machine.silent.first().map(|silent| silent.uuid.clone()),
        Some(None)
    );
}

#[test]
fn whoever_claims_what_another_has_is_silent() {
    let twin = GpuFacts {
        index: 2,
        ..facts(0)
    };
    let same_minor = GpuFacts {
        minor: 1,
        ..facts(3)
    };
    let same_place = GpuFacts {
        pci: facts(1).pci,
        ..facts(4)
    };
    let answers = [
        (0, facts(0)),
        (1, facts(1)),
        (2, twin),
        (3, same_minor),
        (4, same_place),
        (5, facts(5)),
    ];
    let machine = scan(6, &answers, &[]);
    let good: Vec<u32> = machine.gpus.iter().map(|gpu| gpu.index).collect();
    assert_eq!(good, [0, 1, 5]);
    let faults: Vec<&str> = machine
        .silent
        .iter()
        .map(|silent| silent.fault.as_str())
        .collect();
    assert_eq!(
        faults,
        [
            "it has the UUID of GPU 0",
            "it has the minor number 1 of GPU 1",
            "it has the PCI address of GPU 1",
        ]
    );
}

#[test]
fn an_absurd_count_costs_nothing_but_a_word() {
    let gone: Vec<_> = (2..64)
        .map(|index| (index, "invalid argument", Some(2)))
        .collect();
    let machine = scan(4_000_000_000, &[(0, facts(0)), (1, facts(1))], &gone);
    assert_eq!(machine.gpus.len(), 2);
    let faults: Vec<&str> = machine
        .silent
        .iter()
        .map(|silent| silent.fault.as_str())
        .collect();
    assert_eq!(
        faults,
        ["the driver counts 4000000000 GPUs; only 64 were looked at"]
    );
}
