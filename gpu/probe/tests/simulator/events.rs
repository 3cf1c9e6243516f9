//! Events.

use gpu_model::{GpuEvent, ProbeReport};

use crate::bench::{Machine, Watched};

const XID: u64 = 8;

fn event(report: &ProbeReport) -> Option<GpuEvent> {
    match report {
        ProbeReport::Event(event) => Some(event.clone()),
        _ => None,
    }
}

/// Registration is not reported. An event that was raised before it is never delivered, so it is raised
/// until one comes.
async fn listening(machine: &Machine, watched: &mut Watched, gpu: &str) {
    let attempt = std::time::Duration::from_millis(200);
    loop {
        machine.gpusim(&["xid", gpu, "1"]);
        if tokio::time::timeout(attempt, watched.until("event", event))
            .await
            .is_ok()
        {
            return;
        }
    }
}

#[tokio::test]
async fn an_xid_comes_with_its_gpu_and_instances_and_a_reading() {
    let machine = Machine::new("h200x8");
    let (mut watched, facts) = Watched::ready(&machine).await;
    listening(&machine, &mut watched, "3").await;
    listening(&machine, &mut watched, "7").await;
    machine.gpusim(&["xid", "3", "94", "--gi", "2", "--ci", "1"]);
    let of = |code| move |report: &ProbeReport| event(report).filter(|event| event.data == code);
    let contained = watched.until("XID 94", of(94)).await;
    assert_eq!(contained.gpu.as_ref(), Some(&facts.gpus[3].uuid));
    assert_eq!((contained.kind, contained.gpu_instance), (XID, Some(2)));
    assert_eq!(contained.compute_instance, Some(1));
    watched.reading(&facts.gpus[3].uuid).await;

    machine.gpusim(&["xid", "7", "79"]);
    let whole = watched.until("XID 79", of(79)).await;
    assert_eq!(whole.gpu.as_ref(), Some(&facts.gpus[7].uuid));
    assert_eq!((whole.gpu_instance, whole.compute_instance), (None, None));
}

#[tokio::test]
async fn types_that_the_usual_bindings_do_not_know_arrive_whole() {
    let machine = Machine::new("h200x8");
    let (mut watched, _) = Watched::ready(&machine).await;
    listening(&machine, &mut watched, "0").await;
    machine.gpusim(&["event", "0", "recovery-action", "--data", "2"]);
    let kind = |report: &ProbeReport| event(report).filter(|event| event.kind != XID);
    let recovery = watched.until("recovery action", kind).await;
    assert_eq!((recovery.kind, recovery.data), (0x8000, 2));
}
