//! Identity, defaults and translation of usable manifests.

use std::path::Path;
use std::time::Duration;

use agent_core::{Check, Hook, ImageName, ImageVolume, PullPolicy, RestartPolicy};
use k8s_openapi::api::core::v1::Pod;

use super::{read, with_container, with_spec};
use crate::manifest::{Origin, container_hash, parse};

fn uid(text: &str, path: &str, node: &str) -> String {
    let parsed = parse(
        text.as_bytes(),
        Origin {
            path: Path::new(path),
            node,
        },
    )
    .unwrap();
    parsed.pod.want.uid.as_str().to_owned()
}

#[test]
fn the_container_hash_is_that_of_the_stock_kubelet() {
    // The vectors of the Kubernetes sources.
    assert_eq!(container_hash("test_container", "foo/image:v1"), "8e45cbd0");
    assert_eq!(container_hash("foo", "bar"), "11a6d6d6");
    let pod = read(&with_container("")).unwrap().pod;
    assert_eq!(
        pod.want.containers[0].hash,
        container_hash("main", "busybox:1")
    );
}

#[test]
fn a_file_pod_gets_its_identity_and_marks() {
    let pod = read(&with_container("")).unwrap().pod;
    assert_eq!(pod.want.name.to_string(), "default/web-node-1");
    let metadata = &pod.manifest.metadata;
    assert_eq!(metadata.uid.as_deref(), Some(pod.want.uid.as_str()));
    let annotations = metadata.annotations.as_ref().unwrap();
    assert_eq!(
        annotations["kubernetes.io/config.hash"],
        pod.want.uid.as_str()
    );
    assert_eq!(annotations["kubernetes.io/config.source"], "file");
    assert!(annotations["kubernetes.io/config.seen"].ends_with('Z'));
    let spec = pod.manifest.spec.as_ref().unwrap();
    assert_eq!(spec.node_name.as_deref(), Some("Node-1"));
    let toleration = &spec.tolerations.as_ref().unwrap()[0];
    assert_eq!(toleration.operator.as_deref(), Some("Exists"));
    assert_eq!(toleration.effect.as_deref(), Some("NoExecute"));
    assert!(pod.want.is_static);
}

#[test]
fn a_generated_uid_depends_on_content_node_and_path_and_on_nothing_else() {
    let text = with_container("");
    let base = uid(&text, "/m/a.yaml", "n");
    assert_eq!(
        (base.len(), uid(&text, "/m/a.yaml", "n")),
        (32, base.clone())
    );
    let json = r#"{"spec": {"containers": [{"image": "busybox:1", "name": "main"}]},
        "kind": "Pod", "metadata": {"name": "web"}, "apiVersion": "v1"}"#;
    let commented = format!("# a comment\n{text}# another\n");
    assert_eq!(uid(json, "/m/a.yaml", "n"), base);
    assert_eq!(uid(&commented, "/m/a.yaml", "n"), base);
    for (path, node, text) in [
        ("/m/b.yaml", "n", text.clone()),
        ("/m/a.yaml", "o", text.clone()),
        ("/m/a.yaml", "n", with_container("    tty: true\n")),
    ] {
        assert_ne!(uid(&text, path, node), base);
    }
    let own = text.replace("{name: web}", "{name: web, uid: abc-1}");
    assert_eq!(uid(&own, "/m/a.yaml", "n"), "abc-1");
}

fn first_container(pod: &Pod) -> &k8s_openapi::api::core::v1::Container {
    &pod.spec.as_ref().unwrap().containers[0]
}

#[test]
fn the_defaults_of_the_api_server_are_filled_in() {
    let text = with_container(
        "    ports: [{containerPort: 80, name: http}]\n    resources: {limits: {cpu: 2, memory: 1Gi}}\n    \
         livenessProbe: {httpGet: {port: http}}\n    env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]\n    \
         volumeMounts: [{name: v, mountPath: /v}]\n  hostNetwork: true\n  volumes: [{name: v}]\n",
    );
    let pod = read(&text).unwrap().pod.manifest;
    let spec = pod.spec.as_ref().unwrap();
    assert_eq!(spec.restart_policy.as_deref(), Some("Always"));
    assert_eq!(spec.dns_policy.as_deref(), Some("ClusterFirst"));
    assert_eq!(spec.scheduler_name.as_deref(), Some("default-scheduler"));
    assert_eq!(spec.termination_grace_period_seconds, Some(30));
    assert_eq!(spec.enable_service_links, Some(true));
    assert!(spec.security_context.is_some());
    assert!(spec.volumes.as_ref().unwrap()[0].empty_dir.is_some());
    let container = first_container(&pod);
    assert_eq!(
        container.termination_message_path.as_deref(),
        Some("/dev/termination-log")
    );
    assert_eq!(
        container.termination_message_policy.as_deref(),
        Some("File")
    );
    let port = &container.ports.as_ref().unwrap()[0];
    assert_eq!(
        (port.protocol.as_deref(), port.host_port),
        (Some("TCP"), Some(80))
    );
    let requests = container
        .resources
        .as_ref()
        .unwrap()
        .requests
        .as_ref()
        .unwrap();
    assert_eq!((&*requests["cpu"].0, &*requests["memory"].0), ("2", "1Gi"));
    let probe = container.liveness_probe.as_ref().unwrap();
    let http = probe.http_get.as_ref().unwrap();
    assert_eq!(
        (http.path.as_deref(), http.scheme.as_deref()),
        (Some("/"), Some("HTTP"))
    );
    let thresholds = (
        probe.timeout_seconds,
        probe.period_seconds,
        probe.success_threshold,
        probe.failure_threshold,
    );
    assert_eq!(thresholds, (Some(1), Some(10), Some(1), Some(3)));
    let from = container.env.as_ref().unwrap()[0]
        .value_from
        .as_ref()
        .unwrap();
    assert_eq!(
        from.field_ref.as_ref().unwrap().api_version.as_deref(),
        Some("v1")
    );
}

#[test]
fn the_pull_policy_follows_the_tag() {
    for (image, expected) in [
        ("busybox", PullPolicy::Always),
        ("busybox:latest", PullPolicy::Always),
        ("busybox:1", PullPolicy::IfNotPresent),
        ("host:5000/busybox", PullPolicy::Always),
        ("host:5000/busybox:1", PullPolicy::IfNotPresent),
        ("busybox@sha256:00", PullPolicy::IfNotPresent),
        ("busybox:latest@sha256:00", PullPolicy::Always),
    ] {
        let text = with_container("").replace("busybox:1", &format!("\"{image}\""));
        assert_eq!(
            read(&text).unwrap().pod.want.containers[0].pull,
            expected,
            "{image}"
        );
    }
    let text = with_container("    imagePullPolicy: Never\n");
    assert_eq!(
        read(&text).unwrap().pod.want.containers[0].pull,
        PullPolicy::Never
    );
}

#[test]
fn a_container_wants_the_image_volumes_that_it_mounts() {
    let text = with_spec(
        "  containers:
  - name: main
    image: a:1
    volumeMounts: [{name: data, mountPath: /a}, {name: data, mountPath: /b, subPath: b}]
  - {name: other, image: b:1}
  volumes:
  - {name: data, image: {reference: 'data:1', pullPolicy: Never}}
  - {name: idle, image: {reference: 'idle:1'}}
  - {name: plain, emptyDir: {}}
",
    );
    let containers = &read(&text).unwrap().pod.want.containers;
    let volume = ImageVolume {
        volume: "data".to_owned(),
        image: ImageName::new("data:1"),
        pull: PullPolicy::Never,
    };
    assert_eq!(containers[0].image_volumes, [volume]);
    assert_eq!(containers[1].image_volumes, []);
}

/// A specification with everything that decisions read.
const FULL: &str = "  restartPolicy: OnFailure
  terminationGracePeriodSeconds: 5
  activeDeadlineSeconds: 60
  initContainers:
  - {name: side, image: 'a:1', restartPolicy: Always}
  - {name: once, image: 'b:1', resources: {limits: {nvidia.com/gpu: 1}}}
  containers:
  - name: main
    image: c:1
    restartPolicy: Never
    restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]
    ports: [{name: web, containerPort: 8080}]
    resources: {limits: {nvidia.com/gpu: 2, cpu: 1, example.com/x: '0', hugepages-2Mi: 2Mi}}
    livenessProbe: {httpGet: {port: web, path: healthz, scheme: HTTPS, httpHeaders: [{name: A, value: b}]}, terminationGracePeriodSeconds: 3}
    readinessProbe: {tcpSocket: {port: 9}, periodSeconds: 2, successThreshold: 2}
    startupProbe: {grpc: {port: 10}, failureThreshold: 30}
    lifecycle: {postStart: {exec: {command: [x]}}, preStop: {sleep: {seconds: 1}}}
  - name: other
    image: d:1
    lifecycle: {preStop: {tcpSocket: {port: 1}}}
";

#[test]
fn what_decisions_read_is_translated() {
    let want = read(&with_spec(FULL)).unwrap().pod.want;
    assert_eq!(
        (want.restart, want.grace),
        (RestartPolicy::OnFailure, Duration::from_secs(5))
    );
    assert_eq!(want.active_deadline, Some(Duration::from_secs(60)));
    assert!(want.init[0].is_sidecar() && !want.init[1].is_sidecar());
    let devices = |devices: &[(agent_core::ResourceName, u32)]| -> Vec<String> {
        devices
            .iter()
            .map(|(name, count)| format!("{name} {count}"))
            .collect()
    };
    assert_eq!(devices(&want.init[1].devices), ["nvidia.com/gpu 1"]);
    let main = &want.containers[0];
    assert_eq!(
        devices(&main.devices),
        ["nvidia.com/gpu 2"],
        "no CPU, no memory, no zero"
    );
    assert_eq!(main.restart, Some(RestartPolicy::Never));
    assert_eq!(
        (main.restart_rules[0].within, &*main.restart_rules[0].codes),
        (true, &[42][..])
    );
}

#[test]
fn probes_and_hooks_are_translated_with_named_ports_resolved() {
    let want = read(&with_spec(FULL)).unwrap().pod.want;
    let main = &want.containers[0];
    let liveness = main.probes.liveness.as_ref().unwrap();
    assert_eq!(liveness.grace, Some(Duration::from_secs(3)));
    let Check::Http(get) = &liveness.check else {
        panic!("{liveness:?}")
    };
    assert_eq!((get.tls, get.port, &*get.path), (true, 8080, "/healthz"));
    assert_eq!(get.headers, [("A".to_owned(), "b".to_owned())]);
    let readiness = main.probes.readiness.as_ref().unwrap();
    assert_eq!(
        readiness.check,
        Check::Tcp {
            host: None,
            port: 9
        }
    );
    assert_eq!(
        (readiness.period, readiness.success_threshold),
        (Duration::from_secs(2), 2)
    );
    let startup = main.probes.startup.as_ref().unwrap();
    assert_eq!(
        startup.check,
        Check::Grpc {
            port: 10,
            service: String::new()
        }
    );
    assert_eq!(main.post_start, Some(Hook::Exec(vec!["x".to_owned()])));
    assert_eq!(main.pre_stop, Some(Hook::Sleep(Duration::from_secs(1))));
    assert_eq!(want.containers[1].pre_stop, Some(Hook::Invalid));
}

#[test]
fn unknown_fields_and_further_documents_warn() {
    let text =
        with_container("    imagePullpolicy: Never\n    ports: [{containerPort: 1, nam: x}]\n");
    let parsed = read(&format!("{text}---\nkind: Other\n")).unwrap();
    assert_eq!(
        parsed.warnings,
        [
            "only the first of 2 documents is used",
            "fields that do not exist are ignored: spec.containers[0].imagePullpolicy, \
             spec.containers[0].ports[0].nam",
        ]
    );
    let full = "metadata: {name: web, creationTimestamp: null, labels: {}}\nspec: {securityContext: {}, \
                containers: [{name: a, image: 'b:1', resources: {}, env: []}]}\n";
    assert_eq!(
        read(&format!("apiVersion: v1\nkind: Pod\n{full}status: {{}}\n"))
            .unwrap()
            .warnings,
        Vec::<String>::new(),
        "empty parts are no unknown ones"
    );
}
