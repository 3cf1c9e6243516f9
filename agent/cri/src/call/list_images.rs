//! ListImages: all images on the node.

use agent_core::Fail;
use agent_loops::ports::ListedImage;
use proto::cri::{Image, ListImagesRequest};

use crate::connection::Connection;
use crate::fail::Verb;

const VERB: Verb = Verb {
    name: "ListImages",
    reason: "ImageListError",
};

pub(crate) async fn list_images(connection: &Connection) -> Result<Vec<ListedImage>, Fail> {
    let request = connection.request(ListImagesRequest::default());
    let response = connection
        .answer(VERB, connection.images().list_images(request))
        .await?;
    Ok(response.images.into_iter().map(listed).collect())
}

fn listed(image: Image) -> ListedImage {
    let mut names = image.repo_tags;
    names.extend(image.repo_digests);
    ListedImage {
        id: image.id,
        names,
        size: image.size,
    }
}
