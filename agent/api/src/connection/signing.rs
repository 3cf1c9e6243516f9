//! Asking the cluster for a certificate: CertificateSigningRequest, approval, signature.

use std::pin::pin;
use std::time::Duration;

use agent_core::Fail;
use futures::StreamExt;
use k8s_openapi::ByteString;
use k8s_openapi::api::certificates::v1::{
    CertificateSigningRequest, CertificateSigningRequestSpec,
};
use kube::api::{ObjectMeta, PostParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::watch_object;
use kube::{Api, Client};
use rcgen::{CertificateParams, DnType, KeyPair, PKCS_ECDSA_P256_SHA256, SanType};

use super::names::Names;
use crate::api_error::api_fail;

/// Who signs, and what for (Kubernetes 1.37; an ECDSA key cannot encipher keys, so that usage is not
/// asked for).
#[derive(Clone, Copy, Debug)]
pub(super) struct Signer {
    name: &'static str,
    usages: [&'static str; 2],
}

/// Certificates with which a node speaks to the API server.
pub(super) const CLIENT: Signer = Signer {
    name: "kubernetes.io/kube-apiserver-client-kubelet",
    usages: ["digital signature", "client auth"],
};

/// Certificates of the node's own server.
pub(super) const SERVING: Signer = Signer {
    name: "kubernetes.io/kubelet-serving",
    usages: ["digital signature", "server auth"],
};

/// How long a request waits for its signature before a new one is made (Kubernetes 1.37).
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// A signed certificate.
pub(super) struct Issued {
    /// Chain in PEM, leaf first.
    pub(super) certificate: String,
    /// Key in PEM.
    pub(super) key: String,
}

/// Makes a new key and has it signed; waits for a person or controller to approve it. The key leaves
/// this function only with its certificate. Reasons of a failure beside those of [`api_fail`]:
/// `CertificateDenied`, `CertificateFailed`, `CertificateNotSigned`.
pub(super) async fn request(
    client: &Client,
    signer: &Signer,
    names: &Names,
) -> Result<Issued, Fail> {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(|error| unmade(&error))?;
    let text = params(names)
        .and_then(|params| params.serialize_request(&key))
        .and_then(|request| request.pem())
        .map_err(|error| unmade(&error))?;
    let api: Api<CertificateSigningRequest> = Api::all(client.clone());
    let object = CertificateSigningRequest {
        metadata: ObjectMeta {
            generate_name: Some("csr-".to_owned()),
            ..ObjectMeta::default()
        },
        spec: CertificateSigningRequestSpec {
            request: ByteString(text.into_bytes()),
            signer_name: signer.name.to_owned(),
            usages: Some(signer.usages.map(str::to_owned).to_vec()),
            ..CertificateSigningRequestSpec::default()
        },
        status: None,
    };
    let created = api
        .create(&PostParams::default(), &object)
        .await
        .map_err(|error| api_fail(&error, "create a certificate signing request"))?;
    let name = created.metadata.name.unwrap_or_default();
    tracing::info!(
        request = name,
        signer = signer.name,
        "asked for a certificate, waiting for approval and signature"
    );
    match tokio::time::timeout(PATIENCE, signed(&api, &name)).await {
        Ok(certificate) => Ok(Issued {
            certificate: certificate?,
            key: key.serialize_pem(),
        }),
        Err(_) => Err(Fail::retry(
            "CertificateNotSigned",
            format!(
                "certificate signing request {name} was not signed within 15 minutes; approve it with \
                 `kubectl certificate approve` or look for the approving and signing controllers"
            ),
        )),
    }
}

/// Waits for the certificate of a request.
async fn signed(api: &Api<CertificateSigningRequest>, name: &str) -> Result<String, Fail> {
    let mut states = pin!(watch_object(api.clone(), name).default_backoff());
    while let Some(state) = states.next().await {
        match state {
            Ok(Some(request)) => {
                if let Some(outcome) = outcome(&request, name) {
                    return outcome;
                }
            }
            Ok(None) => break,
            // The stream tries again by itself.
            Err(error) => {
                tracing::warn!(request = name, %error, "certificate signing request cannot be watched");
            }
        }
    }
    Err(Fail::retry(
        "CertificateFailed",
        format!("certificate signing request {name} was deleted before it was signed"),
    ))
}

/// What became of a request; `None`: nothing yet.
fn outcome(request: &CertificateSigningRequest, name: &str) -> Option<Result<String, Fail>> {
    let status = request.status.as_ref()?;
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let condition = |kind: &str| conditions.iter().find(|each| each.type_ == kind);
    let words = |kind: &str| {
        let condition = condition(kind)?;
        let texts = [&condition.reason, &condition.message];
        let texts: Vec<&str> = texts
            .into_iter()
            .flatten()
            .map(String::as_str)
            .filter(|text| !text.is_empty())
            .collect();
        Some(texts.join(": "))
    };
    if let Some(why) = words("Denied") {
        return Some(Err(Fail::retry(
            "CertificateDenied",
            format!(
                "certificate signing request {name} was denied ({why}); look at the approving \
                 controller, a new request will be made"
            ),
        )));
    }
    if let Some(why) = words("Failed") {
        return Some(Err(Fail::retry(
            "CertificateFailed",
            format!(
                "certificate signing request {name} could not be signed ({why}); look at the signing \
                 controller, a new request will be made"
            ),
        )));
    }
    condition("Approved")?;
    let certificate = status.certificate.as_ref()?;
    (!certificate.0.is_empty()).then(|| Ok(String::from_utf8_lossy(&certificate.0).into_owned()))
}

/// Subject and names of a request.
pub(super) fn params(names: &Names) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::OrganizationName, names.organization);
    params
        .distinguished_name
        .push(DnType::CommonName, names.common_name.as_str());
    for name in &names.alternatives.dns {
        params
            .subject_alt_names
            .push(SanType::DnsName(name.as_str().try_into()?));
    }
    for address in &names.alternatives.addresses {
        params.subject_alt_names.push(SanType::IpAddress(*address));
    }
    Ok(params)
}

fn unmade(error: &rcgen::Error) -> Fail {
    Fail::retry(
        "CertificateFailed",
        format!("a certificate signing request cannot be made, check the node's names: {error}"),
    )
}

#[cfg(test)]
mod tests;
