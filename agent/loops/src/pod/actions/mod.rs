//! How each kind of action is done: one file per kind, and no decision in any of them.

mod clean_host;
mod create_container;
mod create_sandbox;
mod ensure_image;
mod hold_devices;
mod inspect_pod;
mod job;
mod post_start;
mod pre_stop;
mod prepare_host;
mod read_termination;
mod release_devices;
mod remove_container;
mod remove_logs;
mod remove_sandbox;
mod start_container;
mod stop_container;
mod stop_sandbox;

use std::sync::Arc;

use agent_core::{Action, ContainerName, Fail, Outcome};

use crate::ports::{DeviceGrant, PreparedPod};

pub(super) use job::{ContainerImages, Job, Kit};

/// What an action has brought that later actions of the pod need.
#[derive(Debug)]
pub(super) enum Gain {
    /// Nothing.
    Nothing,
    /// What the host made ready.
    Prepared(Arc<PreparedPod>),
    /// Devices.
    Grants(Arc<Vec<DeviceGrant>>),
    /// Images of a container.
    Images(ContainerName, ContainerImages),
}

type Answer = Result<(Outcome, Gain), Fail>;

/// Does one action.
pub(super) async fn perform(job: &Job, action: &Action) -> (Outcome, Gain) {
    let answer = match action {
        Action::HoldDevices => hold_devices::run(job).await,
        Action::PrepareHost | Action::RefreshVolumes => prepare_host::run(job).await,
        Action::EnsureImage { container } => ensure_image::run(job, container).await,
        Action::CreateSandbox { attempt } => create_sandbox::run(job, *attempt).await,
        Action::CreateContainer {
            container, attempt, ..
        } => create_container::run(job, container, *attempt).await,
        Action::StartContainer { container, id } => start_container::run(job, container, id).await,
        Action::PostStart { container, id } => post_start::run(job, container, id).await,
        Action::PreStop {
            container,
            id,
            deadline,
        } => pre_stop::run(job, container, id, *deadline).await,
        Action::StopContainer {
            container,
            id,
            deadline,
        } => stop_container::run(job, container, id, *deadline).await,
        Action::RemoveContainer {
            container,
            id,
            attempt,
        } => remove_container::run(job, container, id, *attempt).await,
        Action::ClearContainer { id, .. } => remove_container::keep_log(job, id).await,
        Action::StopSandbox { id } => stop_sandbox::run(job, id).await,
        Action::RemoveSandbox { id } => remove_sandbox::run(job, id).await,
        Action::CleanHost => clean_host::run(job).await,
        Action::ReleaseDevices => release_devices::run(job).await,
        Action::RemoveLogs => remove_logs::run(job).await,
        Action::InspectPod => inspect_pod::run(job).await,
        Action::ReadTermination { container, .. } => read_termination::run(job, container).await,
    };
    let name = &job.name;
    match answer {
        Ok((outcome, gain)) => {
            tracing::trace!(pod = %name, ?action, ?outcome, "action done");
            (outcome, gain)
        }
        Err(fail) => {
            tracing::debug!(pod = %name, ?action, error = %fail, "action failed");
            (Outcome::Failed(fail), Gain::Nothing)
        }
    }
}

fn done() -> Answer {
    Ok((Outcome::Done, Gain::Nothing))
}
