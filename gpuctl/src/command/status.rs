//! `gpuctl status`

use serde::Serialize;

use super::{Context, Done, completeness};
use crate::record::{Machine, Pod};
use crate::view;

#[derive(Serialize)]
struct Status<'a> {
    #[serde(flatten)]
    machine: &'a Machine,
    /// `null` when no agent answers.
    pods: Option<&'a [Pod]>,
}

pub(super) async fn run(context: &Context) -> Done {
    let (machine, pods) = context.source.machine_and_pods().await;
    let status = Status {
        machine: &machine,
        pods: pods.as_deref(),
    };
    context.output.show(&status, |screen| {
        view::status(&machine, pods.as_deref(), screen)
    })?;
    Ok(completeness(&machine))
}
