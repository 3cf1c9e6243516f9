use std::convert::Infallible;

use futures::future::join_all;

use super::*;

/// When each of `count` requests that come at once gets through, in milliseconds.
async fn passed(rate: Rate, count: usize) -> Vec<u128> {
    let begin = Instant::now();
    let service = RateLayer::new(rate).layer(tower::service_fn(move |()| async move {
        Ok::<_, Infallible>(begin.elapsed().as_millis())
    }));
    let requests = (0..count).map(|_| service.clone().oneshot(()));
    let mut times: Vec<_> = join_all(requests)
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    times.sort_unstable();
    times
}

fn rate(per_second: f64, burst: u32) -> Rate {
    Rate { per_second, burst }
}

#[tokio::test(start_paused = true)]
async fn a_burst_passes_and_the_rest_follows_at_the_rate() {
    // A timer may be a millisecond late.
    let times = passed(rate(5.0, 2), 5).await;
    let rounded: Vec<_> = times.iter().map(|at| at / 10 * 10).collect();
    assert_eq!(rounded, [0, 0, 200, 400, 600]);
}

#[tokio::test(start_paused = true)]
async fn without_a_rate_nobody_waits() {
    assert_eq!(passed(Rate::UNLIMITED, 50).await, [0; 50]);
    assert_eq!(passed(rate(-1.0, 1), 3).await, [0; 3]);
}

#[test]
fn a_quiet_time_fills_the_bucket_but_not_more() {
    let begin = Instant::now();
    let mut bucket = Bucket {
        rate: 10.0,
        burst: 2.0,
        tokens: 0.0,
        at: begin,
    };
    let later = begin + Duration::from_secs(60);
    assert_eq!(bucket.take(later), Duration::ZERO);
    assert_eq!(bucket.take(later), Duration::ZERO);
    assert_eq!(bucket.take(later), Duration::from_millis(100));
}
