use super::{Blame, Target, blame};
use crate::fixtures::{gpu, mig_gpu, uuid};
use crate::reading::GpuEvent;

fn event(gpu: Option<usize>, gi: Option<u32>, ci: Option<u32>) -> GpuEvent {
    let gpu = gpu.map(uuid);
    GpuEvent {
        gpu,
        kind: 8,
        data: 0,
        gpu_instance: gi,
        compute_instance: ci,
    }
}

#[test]
fn the_event_and_the_catalogue_decide_how_far_a_fault_reaches() {
    let mig = mig_gpu(0, &[(1, 0, "1g"), (1, 1, "1g"), (2, 0, "2g")]);
    let plain = gpu(0, None, &[]);
    let target = |instance| {
        Blame::Target(Target {
            gpu: uuid(0),
            instance,
        })
    };
    for (facts, xid, gi, ci, expected) in [
        (&mig, 48, Some(1), Some(1), target(Some((1, Some(1))))),
        (&mig, 48, Some(1), None, target(Some((1, None)))),
        (&mig, 48, Some(1), Some(7), target(Some((1, None)))),
        // No such instance, no instance named, "not applicable" as NVML writes it.
        (&mig, 48, Some(9), Some(0), target(None)),
        (&mig, 48, None, None, target(None)),
        (&mig, 48, Some(u32::MAX), Some(u32::MAX), target(None)),
        // Off the bus is off the bus, whatever instance was running.
        (&mig, 79, Some(1), Some(0), target(None)),
        (&plain, 48, Some(1), Some(0), target(None)),
    ] {
        assert_eq!(
            blame(&event(Some(0), gi, ci), xid, Some(facts)),
            expected,
            "{xid} {gi:?} {ci:?}"
        );
    }
}

#[test]
fn nobody_is_blamed_for_an_event_of_an_unknown_device() {
    assert_eq!(blame(&event(None, Some(1), None), 79, None), Blame::AnyGpu);
    assert_eq!(blame(&event(Some(77), None, None), 79, None), Blame::AnyGpu);
}

#[test]
fn an_instance_covers_its_compute_instances() {
    let target = |instance| Target {
        gpu: uuid(0),
        instance,
    };
    for (instance, covered) in [
        (None, [true, true, true]),
        (Some((1, None)), [true, true, false]),
        (Some((1, Some(1))), [false, true, false]),
    ] {
        let target = target(instance);
        assert_eq!(
            [
                target.covers(1, 0),
                target.covers(1, 1),
                target.covers(2, 1)
            ],
            covered
        );
    }
}
