//! The phase of a pod.

use crate::end::failed_init;
use crate::restart::restarts;
use crate::status::{ContainerState, ContainerStatus, Phase, Terminated};
use crate::view::PodView;
use crate::want::PodWant;

/// How many containers are in which condition.
#[derive(Debug, Default)]
struct Tally {
    pending_init: usize,
    pending_sidecars: usize,
    waiting: usize,
    running: usize,
    stopped: usize,
    succeeded: usize,
    /// Stopped, and the restart policy leaves it at that.
    final_ones: usize,
}

/// Phase from the states of the containers, as the stock kubelet computes it. A pod that has
/// `finished` without its main containers was ended by an init container.
pub(super) fn phase(
    view: &PodView<'_>,
    init: &[ContainerStatus],
    containers: &[ContainerStatus],
    finished: bool,
) -> Phase {
    let Some(want) = view.want else {
        let runs = containers
            .iter()
            .any(|each| matches!(each.state, ContainerState::Running { .. }));
        return if runs { Phase::Running } else { Phase::Pending };
    };
    let mut tally = Tally::default();
    count_init(want, init, &mut tally);
    count_main(want, containers, &mut tally);
    let main_begun = containers.iter().any(|each| each.id.is_some());
    let pods_end = view.stop.is_some() && !want.is_static;
    let init_failed = failed_init(view, want).is_some();
    let never_ran = finished && tally.stopped < want.containers.len();
    if init_failed || never_ran {
        Phase::Failed
    } else if tally.pending_init > 0
        || (tally.pending_sidecars > 0 && !main_begun)
        || tally.waiting > 0
    {
        Phase::Pending
    } else if tally.running > 0 {
        Phase::Running
    } else if tally.stopped == 0 {
        Phase::Pending
    } else if tally.final_ones < tally.stopped && !pods_end {
        Phase::Running
    } else if tally.succeeded == tally.stopped {
        Phase::Succeeded
    } else {
        Phase::Failed
    }
}

/// The end that counts: the present one, or for a container that waits its last one.
fn ended(status: &ContainerStatus) -> Option<&Terminated> {
    match &status.state {
        ContainerState::Terminated(terminated) => Some(terminated),
        ContainerState::Waiting { .. } => status.last.as_ref(),
        ContainerState::Running { .. } => None,
    }
}

fn count_init(want: &PodWant, init: &[ContainerStatus], tally: &mut Tally) {
    for (container, status) in want.init.iter().zip(init) {
        let running = matches!(status.state, ContainerState::Running { .. });
        match (container.is_sidecar(), ended(status)) {
            (true, _) if running => {
                tally.running += 1;
                tally.pending_sidecars += usize::from(!status.started);
            }
            // One that has ended is being restarted and does not count.
            (true, Some(_)) => {}
            (true, None) => {
                tally.pending_sidecars += 1;
                tally.waiting += 1;
            }
            (false, None) => tally.pending_init += 1,
            // One that failed is being started again, or the pod has failed.
            (false, Some(_)) => {}
        }
    }
}

fn count_main(want: &PodWant, containers: &[ContainerStatus], tally: &mut Tally) {
    for (container, status) in want.containers.iter().zip(containers) {
        match (&status.state, ended(status)) {
            (ContainerState::Running { .. }, _) => tally.running += 1,
            (_, None) => tally.waiting += 1,
            (_, Some(end)) => {
                tally.stopped += 1;
                tally.succeeded += usize::from(end.exit_code == 0);
                tally.final_ones += usize::from(!restarts(want, container, end.exit_code));
            }
        }
    }
}
