//! TokenReview.

use std::time::Duration;

use agent_core::Fail;
use agent_loops::ports::Identity;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use kube::api::PostParams;
use kube::{Api, Client};
use sha2::{Digest, Sha256};

use super::answers::Answer;
use super::patiently;

/// What stands for a token in the cache.
pub(super) fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// Asks whose token it is.
pub(super) async fn ask(client: Client, token: String, keep: Duration) -> Answer<Option<Identity>> {
    let reviews: Api<TokenReview> = Api::all(client);
    let review = TokenReview {
        spec: TokenReviewSpec {
            token,
            audiences: None,
        },
        ..TokenReview::default()
    };
    let params = PostParams::default();
    let answer = patiently(|| reviews.create(&params, &review)).await;
    let answer = answer.map_err(|failure| {
        Fail::retry(
            "Unauthenticated",
            format!("the API server cannot review a token: {failure}"),
        )
    })?;
    let status = answer.status.unwrap_or_default();
    if status.authenticated == Some(true) {
        return Ok((Some(identity(status.user.unwrap_or_default())), keep));
    }
    // A review that had an error may end otherwise the next time. Kubernetes 1.37: not kept either.
    let failed = status.error.is_some_and(|error| !error.is_empty());
    Ok((None, if failed { Duration::ZERO } else { keep }))
}

fn identity(user: UserInfo) -> Identity {
    Identity {
        name: user.username.unwrap_or_default(),
        uid: user.uid.unwrap_or_default(),
        groups: user.groups.unwrap_or_default(),
        extra: user.extra.into_iter().flatten().collect(),
    }
}
