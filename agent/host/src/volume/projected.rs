//! projected volumes: one folder from several sources.

use agent_core::FailKind;
use agent_loops::ports::{PodCertificate, ProjectedSource};
use k8s_openapi::api::core::v1::{
    ClusterTrustBundleProjection, PodCertificateProjection, ProjectedVolumeSource, VolumeProjection,
};

use super::atomic::{File, Files};
use super::published::file;
use super::{Making, VolumeError, config_map, downward, ownership, secret};

/// Mode of credentials that one user or group gets. The group's bit comes with the group (Kubernetes
/// 1.37).
const OWN: i32 = 0o600;

/// Files of all sources. A later source replaces files of an earlier one. Every source is asked, so
/// that the error names all that is wrong.
pub(super) fn files(
    making: Making<'_>,
    volume: &str,
    source: &ProjectedVolumeSource,
) -> Result<Files, VolumeError> {
    let mut files = Files::new();
    let mut errors: Vec<VolumeError> = Vec::new();
    for (index, part) in source.sources.iter().flatten().enumerate() {
        let place = ProjectedSource {
            volume: volume.to_owned(),
            index,
        };
        match of_source(making, &place, part, source.default_mode) {
            Ok(more) => files.extend(more),
            Err(error) => errors.push(error),
        }
    }
    match errors.pop() {
        None => Ok(files),
        Some(only) if errors.is_empty() => Err(only),
        Some(last) => {
            errors.push(last);
            Err(VolumeError::Several(errors))
        }
    }
}

fn of_source(
    making: Making<'_>,
    place: &ProjectedSource,
    source: &VolumeProjection,
    mode: Option<i32>,
) -> Result<Files, VolumeError> {
    if let Some(source) = &source.secret {
        secret::of_source(making, source, mode)
    } else if let Some(source) = &source.config_map {
        config_map::of_source(making, source, mode)
    } else if let Some(source) = &source.downward_api {
        downward::files(making, source.items.as_deref().unwrap_or_default(), mode)
    } else if let Some(source) = &source.service_account_token {
        let credential = Credential::of(making, mode);
        let token = asked(making.references.tokens.get(place), "ServiceAccount token")?;
        credential.files([(Some(&source.path), token.0.as_bytes().to_vec())])
    } else if let Some(source) = &source.cluster_trust_bundle {
        let anchors = anchors(making, place, source)?;
        Credential::of(making, mode).files([(Some(&source.path), anchors)])
    } else if let Some(source) = &source.pod_certificate {
        let certificate = making.references.certificates.get(place);
        let certificate = asked(certificate, "pod certificate")?;
        of_certificate(Credential::of(making, mode), certificate, source)
    } else {
        Err(VolumeError::Unknown("projected (of this source)"))
    }
}

fn of_certificate(
    credential: Credential,
    certificate: &PodCertificate,
    source: &PodCertificateProjection,
) -> Result<Files, VolumeError> {
    let (key, chain) = (&certificate.key, &certificate.chain);
    let between = if key.ends_with('\n') { "" } else { "\n" };
    credential.files([
        (
            source.credential_bundle_path.as_ref(),
            format!("{key}{between}{chain}").into_bytes(),
        ),
        (source.key_path.as_ref(), key.clone().into_bytes()),
        (
            source.certificate_chain_path.as_ref(),
            chain.clone().into_bytes(),
        ),
    ])
}

/// Trust anchors; none if they are optional and not there.
fn anchors(
    making: Making<'_>,
    place: &ProjectedSource,
    source: &ClusterTrustBundleProjection,
) -> Result<Vec<u8>, VolumeError> {
    let optional = source.optional == Some(true);
    match making.references.trust_bundles.get(place) {
        Some(Err(fail)) if optional && fail.kind == FailKind::Gone => Ok(Vec::new()),
        found => asked(found, "trust bundle").map(|text| text.as_bytes().to_vec()),
    }
}

fn asked<'a, T>(
    answer: Option<&'a Result<T, agent_core::Fail>>,
    what: &str,
) -> Result<&'a T, VolumeError> {
    match answer {
        Some(Ok(answer)) => Ok(answer),
        Some(Err(fail)) => Err(VolumeError::Object(fail.clone())),
        None => Err(VolumeError::Wrong(format!(
            "the {what} was not asked for: this node has no API server, or it has not answered yet"
        ))),
    }
}

/// Mode and owner of files that prove who the pod is (Kubernetes 1.37: the one user of all containers
/// owns them; with such a user or a group nobody else reads them).
#[derive(Clone, Copy, Debug)]
struct Credential {
    mode: Option<i32>,
    owner: Option<u32>,
}

impl Credential {
    fn of(making: Making<'_>, default_mode: Option<i32>) -> Self {
        let owner = ownership::only_user(making.pod);
        let own = owner.is_some() || ownership::group(making.pod).is_some();
        Self {
            mode: if own { Some(OWN) } else { default_mode },
            owner,
        }
    }

    /// Files whose path is given.
    fn files<'a>(
        self,
        list: impl IntoIterator<Item = (Option<&'a String>, Vec<u8>)>,
    ) -> Result<Files, VolumeError> {
        let mut files = Files::new();
        for (path, content) in list {
            let Some(path) = path.filter(|path| !path.is_empty()) else {
                continue;
            };
            let (path, file) = file(path, content, self.mode)?;
            let owner = self.owner;
            files.insert(path, File { owner, ..file });
        }
        Ok(files)
    }
}

#[cfg(test)]
mod tests;
