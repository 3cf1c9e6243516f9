//! What the API server would fill in (Kubernetes 1.37): a file pod has passed none.

use k8s_openapi::api::core::v1::{
    Container, EmptyDirVolumeSource, HTTPGetAction, Lifecycle, LifecycleHandler,
    ObjectFieldSelector, Pod, PodSpec, Probe, Volume,
};

/// Mode of files in projected volumes.
const FILE_MODE: i32 = 0o644;

pub(super) fn apply(pod: &mut Pod) {
    let Some(spec) = &mut pod.spec else { return };
    pod_spec(spec);
    let host_network = spec.host_network == Some(true);
    for entry in spec
        .init_containers
        .iter_mut()
        .flatten()
        .chain(&mut spec.containers)
    {
        container(entry, host_network);
    }
    for entry in spec.volumes.iter_mut().flatten() {
        volume(entry);
    }
}

fn pod_spec(spec: &mut PodSpec) {
    text(&mut spec.restart_policy, "Always");
    text(&mut spec.dns_policy, "ClusterFirst");
    text(&mut spec.scheduler_name, "default-scheduler");
    spec.security_context.get_or_insert_default();
    spec.enable_service_links.get_or_insert(true);
    let grace = spec.termination_grace_period_seconds.get_or_insert(30);
    if *grace < 0 {
        *grace = 1;
    }
    // One is an alias of the other.
    if spec
        .service_account_name
        .as_deref()
        .unwrap_or_default()
        .is_empty()
    {
        spec.service_account_name = spec.service_account.take();
    }
    spec.service_account.clone_from(&spec.service_account_name);
}

fn container(container: &mut Container, host_network: bool) {
    let image = container.image.as_deref().unwrap_or_default();
    let pull = if is_latest(image) {
        "Always"
    } else {
        "IfNotPresent"
    };
    text(&mut container.image_pull_policy, pull);
    text(
        &mut container.termination_message_path,
        "/dev/termination-log",
    );
    text(&mut container.termination_message_policy, "File");
    for port in container.ports.iter_mut().flatten() {
        text(&mut port.protocol, "TCP");
        if host_network && port.host_port.unwrap_or_default() == 0 {
            port.host_port = Some(port.container_port);
        }
    }
    if let Some(resources) = &mut container.resources
        && let Some(limits) = &resources.limits
    {
        let requests = resources.requests.get_or_insert_default();
        for (name, limit) in limits {
            requests
                .entry(name.clone())
                .or_insert_with(|| limit.clone());
        }
    }
    let probes = [
        &mut container.liveness_probe,
        &mut container.readiness_probe,
        &mut container.startup_probe,
    ];
    probes.into_iter().flatten().for_each(probe);
    if let Some(Lifecycle {
        post_start,
        pre_stop,
        ..
    }) = &mut container.lifecycle
    {
        for LifecycleHandler { http_get, .. } in [post_start, pre_stop].into_iter().flatten() {
            http_get.iter_mut().for_each(http);
        }
    }
    for source in container
        .env
        .iter_mut()
        .flatten()
        .filter_map(|env| env.value_from.as_mut())
    {
        source.field_ref.iter_mut().for_each(field_reference);
    }
}

fn probe(probe: &mut Probe) {
    for (value, default) in [
        (&mut probe.timeout_seconds, 1),
        (&mut probe.period_seconds, 10),
        (&mut probe.success_threshold, 1),
        (&mut probe.failure_threshold, 3),
    ] {
        if value.unwrap_or_default() == 0 {
            *value = Some(default);
        }
    }
    probe.http_get.iter_mut().for_each(http);
}

fn http(http: &mut HTTPGetAction) {
    text(&mut http.path, "/");
    text(&mut http.scheme, "HTTP");
}

fn volume(volume: &mut Volume) {
    let name = volume.name.clone();
    if *volume
        == (Volume {
            name,
            ..Volume::default()
        })
    {
        volume.empty_dir = Some(EmptyDirVolumeSource::default());
    }
    if let Some(source) = &mut volume.downward_api {
        source.default_mode.get_or_insert(FILE_MODE);
        for file in source.items.iter_mut().flatten() {
            file.field_ref.iter_mut().for_each(field_reference);
        }
    }
    if let Some(source) = &mut volume.projected {
        source.default_mode.get_or_insert(FILE_MODE);
        let parts = source.sources.iter_mut().flatten();
        for file in parts
            .filter_map(|part| part.downward_api.as_mut())
            .flat_map(|api| &mut api.items)
        {
            for file in file {
                file.field_ref.iter_mut().for_each(field_reference);
            }
        }
    }
    if let Some(image) = &mut volume.image {
        let reference = image.reference.as_deref().unwrap_or_default();
        let pull = if is_latest(reference) {
            "Always"
        } else {
            "IfNotPresent"
        };
        text(&mut image.pull_policy, pull);
    }
}

fn field_reference(reference: &mut ObjectFieldSelector) {
    text(&mut reference.api_version, "v1");
}

/// Fills an absent or empty text.
fn text(field: &mut Option<String>, default: &str) {
    if field.as_deref().unwrap_or_default().is_empty() {
        *field = Some(default.to_owned());
    }
}

/// Whether the image's tag is `latest`, which is also meant by neither tag nor digest.
fn is_latest(image: &str) -> bool {
    let (name, digest) = match image.split_once('@') {
        Some((name, _)) => (name, true),
        None => (image, false),
    };
    let last = name.rsplit('/').next().unwrap_or(name);
    match last.split_once(':') {
        Some((_, tag)) => tag == "latest",
        None => !digest,
    }
}
