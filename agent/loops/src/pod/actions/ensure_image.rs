//! `EnsureImage`: the image of one container is on the node, and those that it mounts.

use std::collections::BTreeMap;

use agent_core::{ContainerName, Fail, ImageVolume, Outcome};

use super::{Answer, ContainerImages, Gain, Job};
use crate::images::ImageAsk;
use crate::ports::References;

pub(super) async fn run(job: &Job, name: &ContainerName) -> Answer {
    let references = job.references().await?;
    let images = images(job, name, &references).await?;
    Ok((
        Outcome::Image(images.own.reference.clone()),
        Gain::Images(name.clone(), images),
    ))
}

/// Volumes come first (Kubernetes 1.37: a container whose volume cannot be had is not asked for its
/// own image).
pub(super) async fn images(
    job: &Job,
    name: &ContainerName,
    references: &References,
) -> Result<ContainerImages, Fail> {
    let container = job.container(name)?;
    let mut volumes = BTreeMap::new();
    for volume in &container.image_volumes {
        let reference = mounted(job, name, volume, references).await?;
        volumes.insert(volume.volume.clone(), reference);
    }
    let ask = ImageAsk {
        about: &job.about(name),
        image: &container.image,
        policy: container.pull,
        pod: job.want()?,
        references,
    };
    let own = job.around.images.ensure(&ask).await?;
    Ok(ContainerImages { own, volumes })
}

/// Its events are about the pod, as in the stock kubelet; that the container fails for it is told of
/// the container.
async fn mounted(
    job: &Job,
    name: &ContainerName,
    volume: &ImageVolume,
    references: &References,
) -> Result<String, Fail> {
    let ask = ImageAsk {
        about: &job.pod(),
        image: &volume.image,
        policy: volume.pull,
        pod: job.want()?,
        references,
    };
    match job.around.images.provide(&ask).await {
        Ok(facts) => Ok(facts.reference),
        Err(fail) => {
            let text = format!("Error: {}", fail.reason);
            let events = &job.around.events;
            events.warning(job.about(name), "Failed", text);
            Err(Fail {
                image: Some(volume.image.clone()),
                ..fail
            })
        }
    }
}
