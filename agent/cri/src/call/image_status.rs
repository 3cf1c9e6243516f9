//! ImageStatus: whether the node has an image.

use agent_core::Fail;
use agent_loops::ports::ImageFacts;
use proto::cri::{Image, ImageSpec, ImageStatusRequest};

use crate::connection::Connection;
use crate::fail::Verb;

const VERB: Verb = Verb {
    name: "ImageStatus",
    reason: "ImageInspectError",
};

/// `None` when it is not there.
pub(crate) async fn image_status(
    connection: &Connection,
    image: &str,
) -> Result<Option<ImageFacts>, Fail> {
    let spec = ImageSpec {
        image: image.to_owned(),
        ..Default::default()
    };
    let request = connection.request(ImageStatusRequest {
        image: Some(spec),
        verbose: false,
    });
    let response = connection
        .answer(VERB, connection.images().image_status(request))
        .await?;
    Ok(response.image.map(facts))
}

fn facts(image: Image) -> ImageFacts {
    ImageFacts {
        reference: image.id,
        uid: image.uid.map(|uid| uid.value),
        username: image.username,
        size: image.size,
    }
}
