//! SubjectAccessReview.

use std::sync::Arc;

use agent_core::Fail;
use agent_loops::ports::{AccessAsk, Identity};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};

use super::answers::Answer;
use super::{AccessSettings, patiently};

/// Asks whether somebody may do something to the node.
pub(super) async fn ask(
    client: Client,
    node: Arc<str>,
    (who, what): (Identity, AccessAsk),
    settings: AccessSettings,
) -> Answer<bool> {
    let reviews: Api<SubjectAccessReview> = Api::all(client);
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(who.name).filter(|name| !name.is_empty()),
            uid: Some(who.uid).filter(|uid| !uid.is_empty()),
            groups: Some(who.groups),
            extra: Some(who.extra.into_iter().collect()),
            resource_attributes: Some(ResourceAttributes {
                verb: Some(what.verb.to_owned()),
                version: Some("v1".to_owned()),
                resource: Some("nodes".to_owned()),
                subresource: Some(what.subresource.to_owned()),
                name: Some(node.to_string()),
                ..ResourceAttributes::default()
            }),
            non_resource_attributes: None,
        },
        ..SubjectAccessReview::default()
    };
    let params = PostParams::default();
    let answer = patiently(|| reviews.create(&params, &review)).await;
    let answer = answer.map_err(|failure| {
        Fail::retry(
            "Unauthorized",
            format!("the API server cannot review an access: {failure}"),
        )
    })?;
    let status = answer.status.unwrap_or_default();
    let allowed = status.allowed && status.denied != Some(true);
    let keep = if allowed {
        settings.authorized
    } else {
        settings.unauthorized
    };
    Ok((allowed, keep))
}
