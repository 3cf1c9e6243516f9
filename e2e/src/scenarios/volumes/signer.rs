//! A signer of pod certificates, as a cluster's owner would run one.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use e2e::{Cluster, POD_CERTIFICATE_REQUEST};
use http::Method;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, CertifiedIssuer, IsCa,
    KeyPair, PublicKeyData,
};
use serde_json::{Value, json};

/// Its name.
pub(super) const NAME: &str = "e2e.test/signer";
/// The shortest life that the API allows.
const LIFE: Duration = Duration::from_secs(3600);

/// An authority that signs what pods ask for.
pub(super) struct Signer {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// What it signed.
pub(super) struct Signed {
    /// The certificate as PEM.
    pub(super) chain: String,
    /// The public key that the request asked it for, as the certificate has it.
    pub(super) key: Vec<u8>,
    /// The request's spec.
    pub(super) request: Value,
}

impl Signer {
    /// A new one.
    pub(super) fn new() -> Result<Signer> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        Ok(Signer { issuer })
    }

    /// Its own certificate as PEM.
    pub(super) fn authority(&self) -> String {
        self.issuer.pem()
    }

    /// Waits for a request of the pod and signs it.
    pub(super) async fn sign(&self, cluster: &Cluster, pod: &str) -> Result<Signed> {
        let objects = cluster.objects();
        let request = objects
            .until_all(POD_CERTIFICATE_REQUEST, "", |requests| {
                let mut ours = requests.iter().filter(|one| one["spec"]["podName"] == pod);
                ours.next().cloned().context("no request yet")
            })
            .await?;
        let spec = &request["spec"];
        ensure!(spec["signerName"] == NAME, "{spec}");
        let wish = spec["stubPKCS10Request"]
            .as_str()
            .context("no request in it")?;
        let wish = STANDARD.decode(wish)?;
        let mut wish = CertificateSigningRequestParams::from_der(&wish.as_slice().into())?;
        // Certificates know whole seconds.
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let now = UNIX_EPOCH + Duration::from_secs(now);
        wish.params.not_before = now.into();
        wish.params.not_after = (now + LIFE).into();
        let chain = wish.signed_by(&self.issuer)?.pem();
        let status = json!({ "status": {
            "conditions": [{
                "type": "Issued", "status": "True", "reason": "Signed", "message": "signed by the test",
                "lastTransitionTime": text(now)?,
            }],
            "certificateChain": chain,
            "notBefore": text(now)?,
            "beginRefreshAt": text(now + LIFE / 2)?,
            "notAfter": text(now + LIFE)?,
        } });
        let name = request["metadata"]["name"]
            .as_str()
            .context("a request has a name")?;
        let path = format!("{}/status", POD_CERTIFICATE_REQUEST.path_of(name));
        let body = Some(("application/merge-patch+json", &status));
        objects.call(Method::PATCH, &path, body).await?;
        Ok(Signed {
            chain,
            key: wish.public_key.der_bytes().to_vec(),
            request: spec.clone(),
        })
    }
}

/// The moment as the API writes it.
fn text(moment: SystemTime) -> Result<String> {
    Ok(jiff::Timestamp::try_from(moment)?.to_string())
}
