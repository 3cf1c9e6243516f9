//! Images of the world.

use agent_core::{Fail, ImageName, Time};
use agent_loops::ports::{ContainerSpec, ImageFacts, ListedImage};

use crate::state::State;

/// All that are there.
pub(crate) fn list(state: &State) -> Vec<ListedImage> {
    let listed = |name: &ImageName| ListedImage {
        id: name.to_string(),
        names: vec![name.to_string()],
        size: 1,
    };
    state.images.iter().map(listed).collect()
}

/// Fetches one. A locked image needs its key; one that is called missing is nowhere.
pub(crate) fn pull(
    state: &mut State,
    image: &ImageName,
    password: &str,
) -> Result<ImageFacts, Fail> {
    let tried = (image.clone(), password.to_owned());
    state.keys.tried.push(tried);
    let lock = state.keys.locks.get(image);
    if lock.is_some_and(|lock| lock != password) {
        let message = format!("{password:?} is no key");
        return Err(Fail::retry("ErrImagePull", message));
    }
    if image.as_str().contains("missing") {
        return Err(Fail::retry("ErrImagePull", format!("{image}: not found")));
    }
    state.images.insert(image.clone());
    Ok(facts(image))
}

pub(crate) fn facts(image: &ImageName) -> ImageFacts {
    ImageFacts {
        reference: image.to_string(),
        uid: None,
        username: String::new(),
        size: 1,
    }
}

/// A container needs its image and all that it mounts, and is told what the mounted ones are called.
pub(crate) fn check(state: &mut State, spec: &ContainerSpec, now: Time) -> Result<(), Fail> {
    let missing = |reference: &String| !state.images.contains(&ImageName::new(reference));
    let mut references = spec.image_volumes.values().chain([&spec.image.reference]);
    if references.any(missing) {
        return Err(Fail::retry(
            "CreateContainerError",
            "the image is not there",
        ));
    }
    let (want, name) = (&spec.pod.want, &spec.container);
    let mut all = want.init.iter().chain(&want.containers);
    let own = all.find(|each| each.name == *name);
    for volume in own.iter().flat_map(|own| &own.image_volumes) {
        if !spec.image_volumes.contains_key(&volume.volume) {
            let (uid, volume) = (&want.uid, &volume.volume);
            let what = format!("{now:?}: {name} of {uid} is made without volume {volume}");
            state.violations.push(what);
        }
    }
    Ok(())
}
