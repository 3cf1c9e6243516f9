#![allow(clippy::unwrap_used)]

use gpu_model::GpuEvent;

use super::*;

fn event(number: u64) -> FromChild {
    FromChild::Event(GpuEvent {
        gpu: None,
        kind: 8,
        data: number,
        gpu_instance: None,
        compute_instance: None,
    })
}

#[test]
fn a_flood_of_events_is_cut_and_said_to_be() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let outbox = Outbox::start(ours).unwrap();
    // Nobody reads, so the socket's buffer and the queue fill up.
    let flood = 20_000;
    for number in 0..flood {
        outbox.send_event(event(number));
    }
    let mut received = 0;
    loop {
        match wire::read::<FromChild>(&mut theirs).unwrap() {
            FromChild::Missed => break,
            FromChild::Event(_) => received += 1,
            other => unreachable!("{other:?}"),
        }
    }
    assert!(received > 0 && received < flood, "{received}");
    // Closed, it would end the writer, and that ends the whole process.
    std::mem::forget(theirs);
}
