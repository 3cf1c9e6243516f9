#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::Slots;

#[test]
fn places_are_served_in_the_order_drawn_not_in_the_order_of_standing() {
    let slots = Slots::new(1);
    let (first, second) = (slots.draw(), slots.draw());
    let mut busy = slots.stand(slots.draw());
    let held = busy.try_recv().unwrap();
    let mut late = slots.stand(second);
    let mut early = slots.stand(first);
    assert!(late.try_recv().is_err() && early.try_recv().is_err());
    drop(held);
    let held = early.try_recv().expect("the earlier place is served first");
    assert!(late.try_recv().is_err());
    drop(held);
    late.try_recv().unwrap();
}

#[test]
fn a_place_that_was_left_does_not_swallow_a_slot() {
    let slots = Slots::new(2);
    let one = slots.stand(slots.draw()).try_recv().unwrap();
    let two = slots.stand(slots.draw()).try_recv().unwrap();
    drop(slots.stand(slots.draw()));
    // Served, but never picked up.
    let mut unread = slots.stand(slots.draw());
    let mut last = slots.stand(slots.draw());
    drop(one);
    assert!(last.try_recv().is_err());
    unread.close();
    drop(unread);
    let last = last.try_recv().unwrap();
    drop((two, last));
    let width = (0..5).filter_map(|_| {
        slots
            .stand(slots.draw())
            .try_recv()
            .ok()
            .map(std::mem::forget)
    });
    assert_eq!(width.count(), 2);
}
