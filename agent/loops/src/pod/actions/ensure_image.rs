//! `EnsureImage`: the image of one container is on the node.

use agent_core::{ContainerName, Outcome};

use super::{Answer, Gain, Job};
use crate::images::ImageAsk;

pub(super) async fn run(job: &Job, name: &ContainerName) -> Answer {
    let container = job.container(name)?;
    let about = job.about(name);
    let ask = ImageAsk {
        about: &about,
        image: &container.image,
        policy: container.pull,
        pod: job.want()?,
        references: &*job.references().await?,
    };
    let facts = job.around.images.ensure(&ask).await?;
    Ok((
        Outcome::Image(facts.reference.clone()),
        Gain::Image(name.clone(), facts),
    ))
}
