//! Many pods at once: when the median one and the last one is seen Running, and when the last one is gone.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use e2e::{Bare, BarePod, POD};
use futures::stream::{StreamExt, TryStreamExt, iter};
use http::Method;
use serde_json::json;

use super::{Rig, is_running, name_of};
use crate::report::{Row, Target, median};

const PODS: usize = 30;
const ROUNDS: usize = 2;
/// Calls at once of the two bare clients; the better one counts.
const WIDTHS: [usize; 2] = [4, PODS];
const LABEL: &str = "burst";

pub(super) async fn measure(rig: &mut Rig) -> Result<Vec<Row>> {
    let rows = [
        Row::new("burst of 30: last one Running, s", Target::TimesBare(1.25)),
        Row::new(
            "burst of 30: median one Running, s",
            Target::TimesStock(0.45),
        ),
        Row::new(
            "burst of 30: last one gone after deletion, s",
            Target::TimesBare(1.25),
        ),
    ];
    let mut own = rows.clone();
    let mut bare = WIDTHS.map(|width| (width, rows.clone()));
    for _ in 0..ROUNDS {
        for software in rig.agents.clone() {
            rig.run(software).await?;
            for (row, sample) in own.iter_mut().zip(pods(rig).await?) {
                row.of(software).push(sample);
            }
        }
        for (width, rows) in &mut bare {
            for (row, sample) in rows.iter_mut().zip(calls(&rig.bare, *width).await?) {
                row.bare.push(sample);
            }
        }
    }
    for (place, row) in own.iter_mut().enumerate() {
        let series = bare.iter().filter_map(|(_, rows)| rows.get(place));
        let best = series.min_by(|a, b| {
            let [a, b] = [a, b].map(|row| median(&row.bare).unwrap_or(f64::INFINITY));
            a.total_cmp(&b)
        });
        row.bare = best.map(|row| row.bare.clone()).unwrap_or_default();
    }
    Ok(own.into())
}

/// Pods through the API: last one Running, median one Running, last one gone.
async fn pods(rig: &Rig) -> Result<[f64; 3]> {
    let objects = rig.cluster.objects();
    let selector = format!("app={LABEL}");
    let begin = Instant::now();
    let mut running = BTreeMap::new();
    let seen = objects.until_all(POD, &selector, |pods| {
        for pod in pods.iter().filter(|pod| is_running(pod)) {
            let name = name_of(pod)?.to_owned();
            running
                .entry(name)
                .or_insert_with(|| begin.elapsed().as_secs_f64());
        }
        ensure!(running.len() == PODS, "{} run", running.len());
        Ok(())
    });
    let created = async {
        iter(0..PODS)
            .map(|n| async move { rig.create(&format!("burst-{n}"), LABEL).await })
            .buffer_unordered(PODS)
            .try_collect::<Vec<()>>()
            .await
    };
    let (seen, created) = tokio::join!(seen, created);
    created?;
    seen?;
    let begin = Instant::now();
    let path = format!("{}?labelSelector=app%3D{LABEL}", POD.folder_of(LABEL));
    let body = json!({});
    objects
        .call(Method::DELETE, &path, Some(("application/json", &body)))
        .await?;
    objects
        .until_all(POD, &selector, |pods| {
            ensure!(pods.is_empty(), "{} are there", pods.len());
            Ok(())
        })
        .await?;
    samples(
        running.into_values().collect(),
        begin.elapsed().as_secs_f64(),
    )
}

/// The same with bare calls, so many at once.
async fn calls(bare: &Bare, width: usize) -> Result<[f64; 3]> {
    let begin = Instant::now();
    let started: Vec<(BarePod, f64)> = iter(0..PODS)
        .map(|n| {
            let mut bare = bare.clone();
            async move {
                let pod = bare.start(&format!("bare-{n}"), &[]).await?;
                anyhow::Ok((pod, begin.elapsed().as_secs_f64()))
            }
        })
        .buffer_unordered(width)
        .try_collect()
        .await?;
    let (pods, times): (Vec<_>, Vec<_>) = started.into_iter().unzip();
    let begin = Instant::now();
    iter(pods)
        .map(|pod| {
            let mut bare = bare.clone();
            async move { bare.remove(pod).await }
        })
        .buffer_unordered(width)
        .try_collect::<Vec<()>>()
        .await?;
    samples(times, begin.elapsed().as_secs_f64())
}

fn samples(times: Vec<f64>, removal: f64) -> Result<[f64; 3]> {
    let last = times.iter().copied().max_by(f64::total_cmp);
    let last = last.context("no pod ran")?;
    Ok([last, median(&times).context("no pod ran")?, removal])
}
