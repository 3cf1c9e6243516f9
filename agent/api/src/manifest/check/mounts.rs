//! Volume mounts of one container.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Container, VolumeMount};

use super::Problems;
use super::container::Place;

pub(super) fn check(place: &Place<'_>, container: &Container, problems: &mut Problems) {
    let volumes: BTreeSet<&str> = place
        .spec
        .volumes
        .iter()
        .flatten()
        .map(|volume| volume.name.as_str())
        .collect();
    let privileged = container
        .security_context
        .as_ref()
        .is_some_and(|context| context.privileged == Some(true));
    let mut seen = BTreeSet::new();
    for (at, mount) in container.volume_mounts.iter().flatten().enumerate() {
        let path = format!("{}.volumeMounts[{at}]", place.path);
        if !volumes.contains(mount.name.as_str()) {
            problems.add(
                format!("{path}.name"),
                format!("there is no volume {:?}", mount.name),
            );
        }
        let target = mount.mount_path.as_str();
        let wrong = target.is_empty() || target.contains([':', '\0']);
        problems.when(
            wrong,
            format!("{path}.mountPath"),
            "it must be a path without :",
        );
        if !seen.insert(target) {
            let message = format!("{target:?} is the path of another mount of this container");
            problems.add(format!("{path}.mountPath"), message);
        }
        propagation(mount, privileged, &path, problems);
        sub_path(mount, &path, problems);
    }
    for (at, device) in container.volume_devices.iter().flatten().enumerate() {
        let field = format!("{}.volumeDevices[{at}]", place.path);
        problems.add(
            field,
            format!("{:?}: block volumes are not in this version", device.name),
        );
    }
}

fn propagation(mount: &VolumeMount, privileged: bool, path: &str, problems: &mut Problems) {
    let mode = mount.mount_propagation.as_deref();
    let field = format!("{path}.mountPropagation");
    problems.choice(mode, &field, &["None", "HostToContainer", "Bidirectional"]);
    let alone = mode == Some("Bidirectional") && !privileged;
    problems.when(alone, &field, "Bidirectional needs a privileged container");
    let recursive = mount.recursive_read_only.as_deref();
    let field = format!("{path}.recursiveReadOnly");
    problems.choice(recursive, &field, &["Disabled", "IfPossible", "Enabled"]);
    let on = matches!(recursive, Some("IfPossible" | "Enabled"));
    problems.when(
        on && mount.read_only != Some(true),
        &field,
        "it needs readOnly: true",
    );
    let spreads = mode.is_some_and(|mode| mode != "None");
    problems.when(
        on && spreads,
        &field,
        "it cannot be used with mountPropagation",
    );
}

fn sub_path(mount: &VolumeMount, path: &str, problems: &mut Problems) {
    let filled = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let (plain, expression) = (filled(&mount.sub_path), filled(&mount.sub_path_expr));
    let both = plain.is_some() && expression.is_some();
    problems.when(
        both,
        format!("{path}.subPathExpr"),
        "it cannot be used together with subPath",
    );
    for (field, value) in [("subPath", plain), ("subPathExpr", expression)] {
        let Some(value) = value else { continue };
        let outside = value.starts_with('/') || value.split('/').any(|part| part == "..");
        let message = "it must be a path inside the volume, not absolute and without ..";
        problems.when(outside, format!("{path}.{field}"), message);
    }
}
