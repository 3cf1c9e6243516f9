//! `EnsureImage`: the image of one container is on the node.

use agent_core::{ContainerName, Outcome};

use super::{Answer, Gain, Job};

pub(super) async fn run(job: &Job, name: &ContainerName) -> Answer {
    let container = job.container(name)?;
    let about = job.about(name);
    let facts = job
        .around
        .images
        .ensure(&about, &container.image, container.pull)
        .await?;
    Ok((
        Outcome::Image(facts.reference.clone()),
        Gain::Image(name.clone(), facts),
    ))
}
