//! What a static pod may not use: it has to run before and without a control plane.
//!
//! The rules are those of the stock kubelet 1.37 ("static pods may not reference ...").

use k8s_openapi::api::core::v1::{Container, Pod, Volume, VolumeProjection};

use super::ManifestError;

/// Fails on the first reference to an object of the API.
pub(super) fn refuse(pod: &Pod) -> Result<(), ManifestError> {
    let Some(spec) = &pod.spec else { return Ok(()) };
    let set = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.is_empty());
    let some = |list: Option<usize>| list.is_some_and(|length| length > 0);
    rule(
        set(&spec.service_account_name),
        "spec.serviceAccountName",
        "a service account",
    )?;
    rule(
        some(spec.image_pull_secrets.as_ref().map(Vec::len)),
        "spec.imagePullSecrets",
        "secrets",
    )?;
    rule(
        some(spec.resource_claims.as_ref().map(Vec::len)),
        "spec.resourceClaims",
        "resource claims",
    )?;
    for (at, entry) in spec.init_containers.iter().flatten().enumerate() {
        container(entry, &format!("spec.initContainers[{at}]"))?;
    }
    for (at, entry) in spec.containers.iter().enumerate() {
        container(entry, &format!("spec.containers[{at}]"))?;
    }
    for (at, entry) in spec.volumes.iter().flatten().enumerate() {
        volume(entry, &format!("spec.volumes[{at}]"))?;
    }
    Ok(())
}

fn rule(refused: bool, field: &str, what: &'static str) -> Result<(), ManifestError> {
    if refused {
        return Err(ManifestError::ApiObject {
            field: field.to_owned(),
            what,
        });
    }
    Ok(())
}

fn container(container: &Container, path: &str) -> Result<(), ManifestError> {
    for (at, source) in container.env_from.iter().flatten().enumerate() {
        rule(
            source.secret_ref.is_some(),
            &format!("{path}.envFrom[{at}].secretRef"),
            "secrets",
        )?;
        let field = format!("{path}.envFrom[{at}].configMapRef");
        rule(source.config_map_ref.is_some(), &field, "config maps")?;
    }
    for (at, variable) in container.env.iter().flatten().enumerate() {
        let Some(from) = &variable.value_from else {
            continue;
        };
        let field = format!("{path}.env[{at}].valueFrom");
        rule(
            from.secret_key_ref.is_some(),
            &format!("{field}.secretKeyRef"),
            "secrets",
        )?;
        rule(
            from.config_map_key_ref.is_some(),
            &format!("{field}.configMapKeyRef"),
            "config maps",
        )?;
    }
    Ok(())
}

fn volume(volume: &Volume, path: &str) -> Result<(), ManifestError> {
    for (refused, name, what) in [
        (volume.config_map.is_some(), "configMap", "config maps"),
        (volume.secret.is_some(), "secret", "secrets"),
        (volume.csi.is_some(), "csi", "CSI drivers"),
        (volume.glusterfs.is_some(), "glusterfs", "endpoints"),
        (
            volume.persistent_volume_claim.is_some(),
            "persistentVolumeClaim",
            "volume claims",
        ),
        (volume.ephemeral.is_some(), "ephemeral", "volume claims"),
        (volume.azure_file.is_some(), "azureFile", "secrets"),
    ] {
        rule(refused, &format!("{path}.{name}"), what)?;
    }
    let sources = volume
        .projected
        .iter()
        .filter_map(|projected| projected.sources.as_ref());
    for (at, source) in sources.flatten().enumerate() {
        projection(source, &format!("{path}.projected.sources[{at}]"))?;
    }
    Ok(())
}

fn projection(source: &VolumeProjection, path: &str) -> Result<(), ManifestError> {
    for (refused, name, what) in [
        (source.config_map.is_some(), "configMap", "config maps"),
        (source.secret.is_some(), "secret", "secrets"),
        (
            source.service_account_token.is_some(),
            "serviceAccountToken",
            "a service account",
        ),
        (
            source.cluster_trust_bundle.is_some(),
            "clusterTrustBundle",
            "cluster trust bundles",
        ),
        (
            source.pod_certificate.is_some(),
            "podCertificate",
            "pod certificates",
        ),
    ] {
        rule(refused, &format!("{path}.{name}"), what)?;
    }
    Ok(())
}
