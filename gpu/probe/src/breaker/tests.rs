use super::*;

#[test]
fn pauses_double_to_a_minute_and_start_again_after_an_answer() {
    let now = Instant::now();
    let mut breaker = Breaker::closed();
    let pause = |breaker: &mut Breaker| {
        breaker.trip(now);
        breaker.retry_at().map(|at| (at - now).as_secs())
    };
    let pauses: Vec<_> = (0..6).map(|_| pause(&mut breaker)).collect();
    assert_eq!(pauses, [5, 10, 20, 40, 60, 60].map(Some));
    assert!(breaker.close());
    assert_eq!(pause(&mut breaker), Some(5));
}

#[test]
fn only_a_change_is_news() {
    let now = Instant::now();
    let mut breaker = Breaker::closed();
    assert!(breaker.trip(now));
    assert!(!breaker.trip(now));
    assert!(breaker.close());
    assert!(!breaker.close());
}

#[test]
fn a_closed_breaker_has_nothing_to_hasten() {
    let now = Instant::now();
    let mut breaker = Breaker::closed();
    breaker.hasten(now);
    assert!(!breaker.is_open());
    breaker.trip(now);
    breaker.hasten(now);
    assert_eq!(breaker.retry_at(), Some(now));
}
