//! `HoldDevices`: all devices of the pod or none.

use std::sync::Arc;

use agent_core::{ContainerWant, DeviceState, Fail, Outcome};

use super::{Answer, Gain, Job};
use crate::ports::{DeviceAsk, DeviceGrant, DeviceRefusal};

pub(super) async fn run(job: &Job) -> Answer {
    match grants(job).await? {
        Ok(grants) => Ok((Outcome::Devices(DeviceState::Held), Gain::Grants(grants))),
        Err(refusal) => Ok((Outcome::Devices(told(job, refusal)), Gain::Nothing)),
    }
}

/// Asks the owner of the devices. The same pod asking again gets the same ones.
pub(super) async fn grants(
    job: &Job,
) -> Result<Result<Arc<Vec<DeviceGrant>>, DeviceRefusal>, Fail> {
    let want = &job.want()?.want;
    let init = want
        .init
        .iter()
        .flat_map(|container| asks(container, !container.is_sidecar()));
    let main = want
        .containers
        .iter()
        .flat_map(|container| asks(container, false));
    let asks: Vec<_> = init.chain(main).collect();
    if asks.is_empty() {
        return Ok(Ok(Arc::default()));
    }
    let held = job
        .around
        .doors
        .devices
        .hold(&job.uid, &job.name, &asks)
        .await;
    Ok(held.map(Arc::new))
}

fn asks(container: &ContainerWant, init: bool) -> impl Iterator<Item = DeviceAsk> {
    container
        .devices
        .iter()
        .map(move |(resource, count)| DeviceAsk {
            container: container.name.clone(),
            init,
            resource: resource.clone(),
            count: *count,
        })
}

fn told(job: &Job, refusal: DeviceRefusal) -> DeviceState {
    match refusal {
        DeviceRefusal::Wait { reason, message } => {
            job.around.events.normal(job.pod(), reason, message.clone());
            DeviceState::Waiting { reason, message }
        }
        DeviceRefusal::Never { reason, message } => {
            job.around
                .events
                .warning(job.pod(), reason, message.clone());
            DeviceState::Refused { reason, message }
        }
    }
}
