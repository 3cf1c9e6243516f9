//! PullImage: fetches an image from its registry.

use agent_core::Fail;
use agent_loops::ports::PullCredential;
use proto::cri::{AuthConfig, ImageSpec, PullImageRequest};
use tonic::{Request, Status};

use crate::connection::Connection;
use crate::fail::{self, Verb};

const VERB: Verb = Verb {
    name: "PullImage",
    reason: "ErrImagePull",
};

/// Causes that runtimes name at the beginning of the message (k8s.io/cri-api v0.37.2, `errors`).
const CAUSES: [&str; 2] = ["RegistryUnavailable", "SignatureValidationFailed"];

/// What containerd says of a text that is no image reference at all.
const NO_REFERENCE: &str = "invalid reference format";

/// The reference to use from now on. No deadline: how long a pull takes is the registry's affair.
pub(crate) async fn pull_image(
    connection: &Connection,
    image: &str,
    credential: Option<&PullCredential>,
) -> Result<String, Fail> {
    let spec = ImageSpec {
        image: image.to_owned(),
        ..Default::default()
    };
    let request = Request::new(PullImageRequest {
        image: Some(spec),
        auth: credential.map(auth),
        ..Default::default()
    });
    match connection
        .raw(VERB, connection.images().pull_image(request))
        .await
    {
        Ok(response) => Ok(response.image_ref),
        Err(status) => Err(refusal(image, &status)),
    }
}

fn auth(credential: &PullCredential) -> AuthConfig {
    AuthConfig {
        username: credential.username.clone(),
        password: credential.password.clone(),
        auth: credential.auth.clone(),
        server_address: credential.server.clone(),
        identity_token: credential.identity_token.clone(),
        registry_token: credential.registry_token.clone(),
    }
}

/// Every failed pull may work later: the image may be pushed, the registry may come back, a
/// credential may be set right. Only a bad name stays one.
fn refusal(image: &str, status: &Status) -> Fail {
    let message = format!("image {image}: {}", fail::of(VERB, status).message);
    if status.message().contains(NO_REFERENCE) {
        return Fail::permanent("InvalidImageName", message);
    }
    let cause = CAUSES
        .into_iter()
        .find(|cause| status.message().starts_with(cause));
    Fail::retry(cause.unwrap_or(VERB.reason), message)
}

#[cfg(test)]
mod tests;
