//! The decision: one wave of actions that may start now, the stage of life, and the status.
//!
//! `end` says whether the pod is over. If not, `start` sees to devices, host and sandbox, `init` to
//! the init containers in order, `run` and `restart` to each container; `clean` removes what is too
//! much. If it is, `stop` ends the containers in order and `clean` gives everything back.

mod clean;
mod draft;
mod init;
mod restart_all;
mod run;
mod start;
mod stop;

use crate::end::pod_end;
use crate::plan::{Life, Plan};
use crate::render::render;
use crate::time::Time;
use crate::view::PodView;
use draft::Draft;
pub(crate) use restart_all::is_asked as restarts_all;

/// Decides about one pod: total, and the same view at the same time gives the same plan.
///
/// Without a manifest and without a request to stop, nothing is done: a source may still name the
/// pod.
pub fn decide(view: &PodView<'_>, now: Time) -> Plan {
    let mut draft = Draft::new(view, now);
    let end = pod_end(view, now);
    let life = match (view.stop, end, view.want) {
        (None, None, Some(want)) => run::run(&mut draft, want),
        (None, None, None) => Life::Waiting,
        (Some(request), end, _) => stop::stop(&mut draft, request.why, end),
        (None, Some(end), _) => stop::stop(&mut draft, end.why, Some(end)),
    };
    draft.into_plan(life, end, render(view, now))
}

#[cfg(test)]
mod tests;
