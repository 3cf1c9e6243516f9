//! One pod after the other: created until Running is seen, deleted until gone.

use std::time::Instant;

use anyhow::{Result, ensure};
use e2e::{POD, Software};

use super::{Rig, is_running};
use crate::report::{Row, Target};

/// Samples of each.
const ROUNDS: u32 = 20;
/// A change of agents costs seconds, so each has several rounds at a time.
const TURN: u32 = 5;
/// Sandbox, create, start; and the look at the sandbox's address.
const START_CALLS: f64 = 4.0;

pub(super) async fn measure(rig: &mut Rig) -> Result<Vec<Row>> {
    let mut start = Row::new("pod created -> seen Running, ms", Target::TimesBare(1.15));
    let mut stop = Row::new("pod deleted -> gone, ms", Target::TimesBare(1.25));
    let mut calls = Row::new(
        "CRI calls until Running is seen",
        Target::Itself(START_CALLS),
    );
    for turn in 0..ROUNDS / TURN {
        for software in rig.agents.clone() {
            rig.run(software).await?;
            for round in 0..=TURN {
                let name = format!("bench-{turn}-{round}");
                // The first after a change warms up.
                let warm = round > 0;
                if software == Software::Gpulet {
                    let bare = bare(rig, &name).await?;
                    start.bare.extend(warm.then_some(bare.start));
                    stop.bare.extend(warm.then_some(bare.stop));
                }
                let own = one(rig, &name).await?;
                start.of(software).extend(warm.then_some(own.start));
                stop.of(software).extend(warm.then_some(own.stop));
                calls.of(software).extend(warm.then_some(own.calls));
            }
        }
    }
    Ok(vec![start, stop, calls])
}

/// Milliseconds and CRI calls of one pod.
struct Sample {
    start: f64,
    stop: f64,
    calls: f64,
}

async fn bare(rig: &mut Rig, name: &str) -> Result<Sample> {
    let begin = Instant::now();
    let pod = rig.bare.start(name, &[]).await?;
    let start = milliseconds(begin);
    let begin = Instant::now();
    rig.bare.remove(pod).await?;
    Ok(Sample {
        start,
        stop: milliseconds(begin),
        calls: 0.0,
    })
}

async fn one(rig: &Rig, name: &str) -> Result<Sample> {
    let objects = rig.cluster.objects();
    let proxy = &rig.cluster.node.proxy;
    proxy.take_calls();
    let begin = Instant::now();
    let seen = objects.until(POD, name, |pod| {
        ensure!(is_running(pod), "it does not run");
        Ok(milliseconds(begin))
    });
    let (start, created) = tokio::join!(seen, rig.create(name, "one"));
    created?;
    let start = start?;
    let calls = proxy.take_calls().values().sum::<u64>() as f64;
    // Not while its last status is on its way.
    objects.ready(name).await?;

    let begin = Instant::now();
    objects.delete(POD, name).await?;
    objects.gone(POD, name).await?;
    Ok(Sample {
        start,
        stop: milliseconds(begin),
        calls,
    })
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}
