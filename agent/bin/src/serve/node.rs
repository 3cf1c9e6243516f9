//! The node in terms of the wire.

use agent_loops::WatchMode;
use proto::gpulet::{NodeInfo, Problem, Runtime};

use super::{NodeApi, gpus};
use crate::version::VERSION;

/// The agent, its surroundings, and what is wrong.
pub(super) fn message(api: &NodeApi) -> NodeInfo {
    let snapshot = api.gpus.borrow().clone();
    let facts = api.runtime.borrow().clone();
    NodeInfo {
        node_name: api.place.node.clone(),
        version: VERSION.to_owned(),
        started_at: api.place.started_at.0,
        not_ready: api
            .readiness
            .pending()
            .into_iter()
            .map(str::to_owned)
            .collect(),
        runtime: Some(Runtime {
            endpoint: api.place.endpoint.clone(),
            reachable: facts.mode != WatchMode::Down,
            ..runtime(&facts)
        }),
        driver: Some(gpus::driver(&snapshot)),
        problems: problems(api),
        pods: i64::try_from(api.pods.borrow().len()).unwrap_or(i64::MAX),
        cpu_millis: i64::try_from(api.place.capacity.cpus.saturating_mul(1000)).unwrap_or(i64::MAX),
        memory_bytes: i64::try_from(api.place.capacity.memory).unwrap_or(i64::MAX),
        gpus_expected: u32::try_from(snapshot.expected).unwrap_or(u32::MAX),
    }
}

fn runtime(watch: &agent_loops::RuntimeWatch) -> Runtime {
    match &watch.facts {
        Some(facts) => Runtime {
            name: facts.name.clone(),
            version: facts.version.clone(),
            cdi: facts.cdi,
            ..Runtime::default()
        },
        None => Runtime::default(),
    }
}

fn problems(api: &NodeApi) -> Vec<Problem> {
    let board = api.problems.borrow().clone();
    let lists = board
        .iter()
        .flat_map(|(area, list)| list.iter().map(move |each| (area, each)));
    lists
        .map(|(area, problem)| Problem {
            subject: problem.subject.clone(),
            reason: area.reason().to_owned(),
            message: problem.message.clone(),
            since: problem.since.0,
        })
        .collect()
}
