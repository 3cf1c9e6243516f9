//! `CreateContainer`: everything about a container but its first process.

use agent_core::{ContainerName, Fail, Outcome};

use super::{Answer, ContainerImages, Gain, Job, ensure_image, hold_devices};
use crate::ports::{ContainerInstance, ContainerSpec, DeviceGrant, DeviceRefusal, References};

pub(super) async fn run(job: &Job, name: &ContainerName, attempt: u32) -> Answer {
    let about = job.about(name);
    match create(job, name, attempt).await {
        Ok(outcome) => {
            job.around
                .events
                .normal(about, "Created", "Container created");
            Ok((outcome, Gain::Nothing))
        }
        Err(fail) => {
            // Somebody may have removed the image; the next try asks the runtime again.
            let container = job.container(name)?;
            let volumes = container.image_volumes.iter().map(|each| &each.image);
            for image in volumes.chain([&container.image]) {
                job.around.images.forget(image);
            }
            Err(job.told(about, "Failed", "Error", fail))
        }
    }
}

async fn create(job: &Job, name: &ContainerName, attempt: u32) -> Result<Outcome, Fail> {
    let sandbox = job
        .sandbox
        .as_ref()
        .ok_or_else(|| Fail::gone("SandboxMissing", "the pod's sandbox is gone"))?;
    let pod = job.want()?.clone();
    let (prepared, ips) = (job.prepared().await?, job.ips());
    let references = job.references().await?;
    let host = &job.around.doors.host;
    let own = host
        .prepare_container(ContainerInstance {
            pod: &pod,
            prepared: &prepared,
            container: name,
            attempt,
            ips: &ips,
            references: &references,
        })
        .await?;
    let images = images(job, name, &references).await?;
    let spec = ContainerSpec {
        pod,
        container: name.clone(),
        attempt,
        sandbox: sandbox.id.clone(),
        sandbox_attempt: sandbox.attempt,
        ips,
        prepared,
        own,
        image: images.own,
        image_volumes: images.volumes,
        grants: grants(job, name).await?,
        references,
    };
    let id = job.around.doors.runtime.create_container(&spec).await?;
    // A log without its link is still a log.
    if let Err(error) = host.link_log(&job.log_owner(), name, attempt, &id).await {
        tracing::warn!(container = %name, %error, "log collectors may miss this container");
    }
    Ok(Outcome::Container(id))
}

async fn images(
    job: &Job,
    name: &ContainerName,
    references: &References,
) -> Result<ContainerImages, Fail> {
    match job.kit.images.get(name) {
        Some(images) => Ok(images.clone()),
        None => ensure_image::images(job, name, references).await,
    }
}

async fn grants(job: &Job, name: &ContainerName) -> Result<Vec<DeviceGrant>, Fail> {
    let all = match &job.kit.grants {
        Some(grants) => grants.clone(),
        None => hold_devices::grants(job)
            .await?
            .map_err(|refusal| match refusal {
                DeviceRefusal::Wait { reason, message }
                | DeviceRefusal::Never { reason, message } => Fail::retry(reason, message),
            })?,
    };
    Ok(all
        .iter()
        .filter(|grant| grant.container == *name)
        .cloned()
        .collect())
}
