//! Volumes of a pod.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{
    DownwardAPIVolumeFile, EmptyDirVolumeSource, HostPathVolumeSource, NFSVolumeSource, PodSpec,
    ProjectedVolumeSource, Volume,
};

use super::{Problems, names, resources};

/// Types of hostPath. The empty one checks nothing.
const HOST_PATH_TYPES: &[&str] = &[
    "",
    "DirectoryOrCreate",
    "Directory",
    "FileOrCreate",
    "File",
    "Socket",
    "CharDevice",
    "BlockDevice",
];

/// Fields of the pod that a file may hold. `metadata.labels` and `metadata.annotations` also take a
/// key in brackets.
const FILE_FIELDS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "metadata.labels",
    "metadata.annotations",
];

pub(super) fn check(spec: &PodSpec, problems: &mut Problems) {
    let mut seen = BTreeSet::new();
    for (at, volume) in spec.volumes.iter().flatten().enumerate() {
        let path = format!("spec.volumes[{at}]");
        problems.when(
            !names::is_label(&volume.name),
            format!("{path}.name"),
            names::LABEL,
        );
        if !seen.insert(volume.name.as_str()) {
            let message = format!(
                "{:?} is the name of another volume of this pod",
                volume.name
            );
            problems.add(format!("{path}.name"), message);
        }
        sources(volume, &path, problems);
        if let Some(source) = &volume.empty_dir {
            empty_dir(source, &format!("{path}.emptyDir"), problems);
        }
        if let Some(source) = &volume.host_path {
            host_path(source, &format!("{path}.hostPath"), problems);
        }
        if let Some(source) = &volume.nfs {
            nfs(source, &format!("{path}.nfs"), problems);
        }
        if let Some(source) = &volume.downward_api {
            let path = format!("{path}.downwardAPI");
            mode(
                source.default_mode,
                &format!("{path}.defaultMode"),
                problems,
            );
            files(source.items.as_deref().unwrap_or_default(), &path, problems);
        }
        if let Some(source) = &volume.projected {
            projected(source, &format!("{path}.projected"), problems);
        }
    }
}

/// Exactly one source, and one that this version has.
fn sources(volume: &Volume, path: &str, problems: &mut Problems) {
    let here = [
        volume.empty_dir.is_some(),
        volume.host_path.is_some(),
        volume.downward_api.is_some(),
        volume.projected.is_some(),
        volume.image.is_some(),
        volume.nfs.is_some(),
    ];
    let count = here.iter().filter(|present| **present).count();
    let only = Volume {
        name: volume.name.clone(),
        empty_dir: volume.empty_dir.clone(),
        host_path: volume.host_path.clone(),
        downward_api: volume.downward_api.clone(),
        projected: volume.projected.clone(),
        image: volume.image.clone(),
        nfs: volume.nfs.clone(),
        ..Volume::default()
    };
    if *volume != only {
        let message =
            "this version has emptyDir, hostPath, downwardAPI, projected, image and nfs volumes";
        problems.add(path, message);
    } else {
        problems.when(count != 1, path, "it must have exactly one source");
    }
}

fn empty_dir(source: &EmptyDirVolumeSource, path: &str, problems: &mut Problems) {
    let medium = source.medium.as_deref().unwrap_or_default();
    let sized = medium.strip_prefix("HugePages-").is_some_and(|size| {
        size.parse::<agent_core::Quantity>()
            .is_ok_and(|size| size.value() > 0)
    });
    let right = sized || ["", "Memory", "HugePages"].contains(&medium);
    let message = "it must be empty, Memory, HugePages or HugePages-<size>";
    problems.when(!right, format!("{path}.medium"), message);
    if let Some(limit) = &source.size_limit {
        resources::quantity("", limit, &format!("{path}.sizeLimit"), problems);
    }
}

fn host_path(source: &HostPathVolumeSource, path: &str, problems: &mut Problems) {
    let wrong = !source.path.starts_with('/') || source.path.split('/').any(|part| part == "..");
    problems.when(
        wrong,
        format!("{path}.path"),
        "it must be an absolute path without ..",
    );
    problems.choice(
        source.type_.as_deref(),
        format!("{path}.type"),
        HOST_PATH_TYPES,
    );
}

fn nfs(source: &NFSVolumeSource, path: &str, problems: &mut Problems) {
    let missing = source.server.is_empty();
    problems.when(missing, format!("{path}.server"), "it is missing");
    let wrong = !source.path.starts_with('/');
    let message = "it must be an absolute path";
    problems.when(wrong, format!("{path}.path"), message);
}

fn projected(source: &ProjectedVolumeSource, path: &str, problems: &mut Problems) {
    mode(
        source.default_mode,
        &format!("{path}.defaultMode"),
        problems,
    );
    for (at, part) in source.sources.iter().flatten().enumerate() {
        let path = format!("{path}.sources[{at}]");
        match &part.downward_api {
            Some(api) => {
                let path = format!("{path}.downwardAPI");
                files(api.items.as_deref().unwrap_or_default(), &path, problems);
            }
            None => problems.add(path, "it must have a source"),
        }
    }
}

fn files(items: &[DownwardAPIVolumeFile], path: &str, problems: &mut Problems) {
    for (at, item) in items.iter().enumerate() {
        let path = format!("{path}.items[{at}]");
        mode(item.mode, &format!("{path}.mode"), problems);
        let outside = item.path.is_empty()
            || item.path.starts_with('/')
            || item.path.split('/').any(|part| part == "..")
            // The names that the atomic exchange of contents needs for itself.
            || item.path.starts_with("..");
        let message = "it must be a path inside the volume, not absolute and without ..";
        problems.when(outside, format!("{path}.path"), message);
        let one = item.field_ref.is_some() != item.resource_field_ref.is_some();
        problems.when(
            !one,
            &path,
            "it must have exactly one of fieldRef and resourceFieldRef",
        );
        if let Some(reference) = &item.field_ref {
            let name = reference.field_path.split('[').next().unwrap_or_default();
            let field = format!("{path}.fieldRef.fieldPath");
            problems.choice(Some(name), field, FILE_FIELDS);
        }
        if let Some(reference) = &item.resource_field_ref {
            let field = format!("{path}.resourceFieldRef");
            let named = reference
                .container_name
                .as_deref()
                .is_some_and(|name| !name.is_empty());
            problems.when(!named, format!("{field}.containerName"), "it is missing");
            resources::divisor(reference, &field, problems);
        }
    }
}

fn mode(mode: Option<i32>, field: &str, problems: &mut Problems) {
    if let Some(mode) = mode.filter(|mode| !(0..=0o777).contains(mode)) {
        problems.add(
            field,
            format!("{mode:#o} is wrong, it must be between 0 and 0777"),
        );
    }
}
