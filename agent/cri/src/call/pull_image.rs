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

/// Causes that runtimes name at the beginning of the message (k8s.io/cri-api v0.37.2, `errors`), and how
/// the stock kubelet tells them.
const CAUSES: [(&str, &str); 2] = [
    ("RegistryUnavailable", "the registry is unavailable"),
    (
        "SignatureValidationFailed",
        "the signature validation failed",
    ),
];

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
    for (cause, because) in CAUSES {
        if let Some(detail) = status.message().strip_prefix(cause) {
            let message = format!("image pull failed for {image} because {because}{detail}");
            return Fail::retry(cause, message);
        }
    }
    let message = format!("image {image}: {}", fail::of(VERB, status).message);
    if status.message().contains(NO_REFERENCE) {
        return Fail::permanent("InvalidImageName", message);
    }
    Fail::retry(VERB.reason, message)
}

#[cfg(test)]
mod tests;
