use std::time::Duration;

use tokio::time::Instant;

use super::Rate;

#[tokio::test(start_paused = true)]
async fn a_burst_then_a_steady_flow() {
    let rate = Rate::new(5, 2).expect("a limit");
    let start = Instant::now();
    let mut turns = Vec::new();
    for _ in 0..4 {
        rate.turn().await;
        turns.push(start.elapsed().as_millis());
    }
    assert_eq!(turns, [0, 0, 200, 400]);
    tokio::time::advance(Duration::from_secs(60)).await;
    let rested = Instant::now();
    for _ in 0..3 {
        rate.turn().await;
    }
    assert_eq!(rested.elapsed(), Duration::from_millis(200));
}

#[test]
fn zero_is_no_limit() {
    assert!(Rate::new(0, 10).is_none());
}
