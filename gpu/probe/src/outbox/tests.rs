use gpu_model::{DriverState, GpuEvent, GpuUuid, Reading};

use super::*;

fn event(number: u64) -> ProbeReport {
    ProbeReport::Event(GpuEvent {
        gpu: None,
        kind: 8,
        data: number,
        gpu_instance: None,
        compute_instance: None,
    })
}

fn reading(gpu: &str, utilization: u32) -> ProbeReport {
    let reading = Reading {
        utilization: Some(utilization),
        ..Reading::default()
    };
    ProbeReport::Reading(GpuUuid::new(gpu), Box::new(reading))
}

fn all(mut outbox: Outbox) -> Vec<ProbeReport> {
    std::iter::from_fn(|| outbox.pop()).collect()
}

#[test]
fn the_newest_of_a_kind_is_enough() {
    let mut outbox = Outbox::default();
    outbox.push(ProbeReport::Driver(DriverState::NotLoaded));
    outbox.push(reading("GPU-a", 1));
    outbox.push(reading("GPU-b", 2));
    outbox.push(ProbeReport::Driver(DriverState::Ready));
    outbox.push(reading("GPU-a", 3));
    let ready = ProbeReport::Driver(DriverState::Ready);
    assert_eq!(
        all(outbox),
        [reading("GPU-b", 2), ready, reading("GPU-a", 3)]
    );
}

#[test]
fn what_a_gpu_is_now_replaces_what_it_was() {
    let gpu = GpuUuid::new("GPU-a");
    let mut outbox = Outbox::default();
    outbox.push(ProbeReport::Unresponsive {
        gpu: gpu.clone(),
        detail: String::new(),
    });
    outbox.push(ProbeReport::Responsive(gpu.clone()));
    assert_eq!(all(outbox), [ProbeReport::Responsive(gpu)]);
}

#[test]
fn every_event_is_kept_until_there_are_too_many_and_then_that_is_said_once() {
    let mut outbox = Outbox::default();
    for number in 0..300 {
        outbox.push(event(number));
    }
    let reports = all(outbox);
    assert_eq!(reports.len(), MAX_EVENTS + 1);
    assert_eq!(reports.first(), Some(&event(0)));
    assert_eq!(reports.last(), Some(&ProbeReport::Missed));
}
