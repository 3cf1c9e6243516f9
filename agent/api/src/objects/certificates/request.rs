//! One PodCertificateRequest, from its key to the signer's answer.

use std::time::Duration;

use agent_core::Time;
use agent_loops::ports::PodCertificate;
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Node, PodCertificateProjection, ServiceAccount};
use kube::api::PostParams;
use kube::core::DynamicObject;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::CertificateSource;
use crate::objects::follow::Seen;
use crate::objects::key::{self, KeyError};
use crate::objects::kinds;
use crate::objects::record::PodFacts;
use crate::objects::trust;
use crate::request::{RequestFailure, within};

/// A request that shows no answer for so long is taken for deleted. Kubernetes 1.37: the same, for
/// requests that are not seen at all.
const ABANDONED: Duration = Duration::from_secs(10 * 60);

/// What came of a request.
pub(super) enum Outcome {
    /// A certificate, and when to ask for the next.
    Issued(PodCertificate, Time),
    /// `denied` or `failed`, and why.
    Refused(&'static str, String),
}

/// Why nothing came of it; it may be tried again.
#[derive(Debug, thiserror::Error)]
pub(super) enum RequestError {
    #[error("while generating keypair")]
    Key(#[from] KeyError),
    #[error("the task that makes the key ended")]
    KeyTask,
    #[error("while fetching service account")]
    Account(#[source] RequestFailure),
    #[error("while fetching the node")]
    Node(#[source] RequestFailure),
    #[error("while creating PodCertificateRequest")]
    Create(#[source] RequestFailure),
    #[error("PodCertificateRequest {0:?} appears to have been deleted")]
    Deleted(String),
    #[error("PodCertificateRequest {0:?} was issued without {1}")]
    Incomplete(String, &'static str),
}

/// Makes a request and waits for its outcome.
pub(super) async fn issue(
    ask: &PodCertificateProjection,
    pod: &PodFacts,
    with: &CertificateSource,
) -> Result<Outcome, RequestError> {
    let client = || with.client.clone();
    let accounts: Api<ServiceAccount> = Api::namespaced(client(), &pod.namespace);
    let account = within(accounts.get(&pod.account)).await;
    let account = account.map_err(RequestError::Account)?;
    let nodes: Api<Node> = Api::all(client());
    let node = within(nodes.get(&with.node)).await;
    let node = node.map_err(RequestError::Node)?;

    let key_type = ask.key_type.clone();
    let key = tokio::task::spawn_blocking(move || key::generate(&key_type)).await;
    let key = key.map_err(|_| RequestError::KeyTask)??;
    let api = kinds::certificate_request_api(client(), &pod.namespace, &with.version).await;
    let (api, resource) = api.map_err(RequestError::Create)?;
    let mut request = DynamicObject::new("", &resource).within(&pod.namespace);
    request.metadata.name = None;
    request.metadata.generate_name = Some("req-".to_owned());
    let mut body = json!({
        "spec": {
            "signerName": ask.signer_name,
            "podName": &*pod.name,
            "podUID": pod.uid.as_str(),
            "serviceAccountName": pod.account,
            "serviceAccountUID": account.uid().unwrap_or_default(),
            "nodeName": &*with.node,
            "nodeUID": node.uid().unwrap_or_default(),
            "stubPKCS10Request": ByteString(key.request),
        }
    });
    request.metadata.owner_references = Some(vec![pod.as_owner()]);
    if let Some(seconds) = ask.max_expiration_seconds {
        body["spec"]["maxExpirationSeconds"] = json!(seconds);
    }
    if let Some(annotations) = &ask.user_annotations {
        body["spec"]["unverifiedUserAnnotations"] = json!(annotations);
    }
    request.data = body;
    let created = within(api.create(&PostParams::default(), &request)).await;
    let created = created.map_err(RequestError::Create)?.name_any();
    tracing::debug!(
        pod = %format_args!("{}/{}", pod.namespace, pod.name), request = created, "certificate asked for"
    );
    outcome(&created, key.pem, pod, with).await
}

/// Waits until the signer has decided.
async fn outcome(
    name: &str,
    key: String,
    pod: &PodFacts,
    with: &CertificateSource,
) -> Result<Outcome, RequestError> {
    let gone = || RequestError::Deleted(format!("{}/{name}", pod.namespace));
    let mut seen = with.requests.subscribe(&with.query()).ok_or_else(gone)?;
    let at = (pod.namespace.to_string(), name.to_owned());
    let decided = async {
        let seen = seen.wait_for(|seen| match seen {
            Seen::Read(found) => found.get(&at).is_some_and(|it| decision(it).is_some()),
            Seen::Unread(_) => false,
        });
        match &*seen.await.ok()? {
            Seen::Read(found) => found.get(&at).cloned(),
            Seen::Unread(_) => None,
        }
    };
    let request = tokio::time::timeout(ABANDONED, decided).await;
    let request = request.ok().flatten().ok_or_else(gone)?;
    let (decision, condition) = decision(&request).ok_or_else(gone)?;
    let text = |key: &str| condition[key].as_str().unwrap_or_default();
    let verb = match decision {
        Decision::Issued => return issued(&request, key),
        Decision::Denied => "denied",
        Decision::Failed => "failed",
    };
    let why = format!("reason={:?} message={:?}", text("reason"), text("message"));
    Ok(Outcome::Refused(verb, why))
}

#[derive(Clone, Copy)]
enum Decision {
    Issued,
    Denied,
    Failed,
}

fn decision(request: &DynamicObject) -> Option<(Decision, &Value)> {
    let conditions = request.data["status"]["conditions"].as_array()?;
    conditions.iter().find_map(|condition| {
        let decision = match condition["type"].as_str()? {
            "Issued" => Decision::Issued,
            "Denied" => Decision::Denied,
            "Failed" => Decision::Failed,
            _ => return None,
        };
        Some((decision, condition))
    })
}

fn issued(request: &DynamicObject, key: String) -> Result<Outcome, RequestError> {
    let status = &request.data["status"];
    let missing = |what| RequestError::Incomplete(request.name_any(), what);
    let chain = status["certificateChain"].as_str().unwrap_or_default();
    let blocks = pem::parse_many(chain).ok();
    let blocks = blocks.filter(|blocks| !blocks.is_empty());
    let blocks = blocks.ok_or_else(|| missing("a certificate chain"))?;
    let begin = status["beginRefreshAt"].as_str();
    let begin = begin.and_then(|text| text.parse::<Timestamp>().ok());
    let begin = begin.ok_or_else(|| missing("beginRefreshAt"))?;
    let begin = i64::try_from(begin.as_nanosecond()).unwrap_or(i64::MAX);
    let contents = blocks.into_iter().map(pem::Pem::into_contents);
    Ok(Outcome::Issued(
        PodCertificate {
            key,
            chain: trust::certificates(contents),
        },
        Time(begin),
    ))
}
