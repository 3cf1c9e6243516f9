//! What is wrong with a manifest names the field and what is allowed.

use super::{read, with_container, with_spec};

fn error(text: &str) -> String {
    match read(text) {
        Ok(parsed) => panic!("accepted: {text}\n{parsed:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_is_no_pod_is_told() {
    for (text, expected) in [
        ("", "it is empty"),
        (
            "just a text",
            "apiVersion null and kind null are no pod; they must be v1 and Pod",
        ),
        (
            "[1, 2]",
            "apiVersion null and kind null are no pod; they must be v1 and Pod",
        ),
        (
            "apiVersion: v1\nkind: Service\n",
            "apiVersion \"v1\" and kind \"Service\" are no pod; they must be v1 and Pod",
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: x\n",
            "line 3, column 11: unclosed bracket '{'",
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: 5}\n",
            "metadata.name: invalid type: integer `5`, expected a string",
        ),
        (
            &with_container("    ports: [{containerPort: http}]\n"),
            "spec.containers[0].ports[0].containerPort: invalid type: string \"http\", expected i32",
        ),
        (
            &with_container("    command: sh\n"),
            "spec.containers[0].command: invalid type: string \"sh\", expected a sequence",
        ),
    ] {
        assert_eq!(error(text), expected, "{text}");
    }
}

/// Fields, which of them is refused, and what it would need.
const OF_A_CONTROL_PLANE: &[(&str, &str, &str)] = &[
    (
        "  serviceAccountName: robot\n",
        "spec.serviceAccountName",
        "a service account",
    ),
    (
        "  serviceAccount: robot\n",
        "spec.serviceAccountName",
        "a service account",
    ),
    (
        "  imagePullSecrets: [{name: s}]\n",
        "spec.imagePullSecrets",
        "secrets",
    ),
    (
        "  resourceClaims: [{name: c}]\n",
        "spec.resourceClaims",
        "resource claims",
    ),
    (
        "    envFrom: [{secretRef: {name: s}}]\n",
        "spec.containers[0].envFrom[0].secretRef",
        "secrets",
    ),
    (
        "    envFrom: [{configMapRef: {name: s}}]\n",
        "spec.containers[0].envFrom[0].configMapRef",
        "config maps",
    ),
    (
        "    env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]\n",
        "spec.containers[0].env[0].valueFrom.secretKeyRef",
        "secrets",
    ),
    (
        "    env: [{name: A, valueFrom: {configMapKeyRef: {name: s, key: k}}}]\n",
        "spec.containers[0].env[0].valueFrom.configMapKeyRef",
        "config maps",
    ),
    (
        "  volumes: [{name: v, configMap: {name: c}}]\n",
        "spec.volumes[0].configMap",
        "config maps",
    ),
    (
        "  volumes: [{name: v, secret: {secretName: c}}]\n",
        "spec.volumes[0].secret",
        "secrets",
    ),
    (
        "  volumes: [{name: v, csi: {driver: d}}]\n",
        "spec.volumes[0].csi",
        "CSI drivers",
    ),
    (
        "  volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]\n",
        "spec.volumes[0].persistentVolumeClaim",
        "volume claims",
    ),
    (
        "  volumes: [{name: v, ephemeral: {}}]\n",
        "spec.volumes[0].ephemeral",
        "volume claims",
    ),
    (
        "  volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: t}}]}}]\n",
        "spec.volumes[0].projected.sources[0].serviceAccountToken",
        "a service account",
    ),
    (
        "  volumes: [{name: v, projected: {sources: [{configMap: {name: c}}]}}]\n",
        "spec.volumes[0].projected.sources[0].configMap",
        "config maps",
    ),
];

#[test]
fn what_only_a_control_plane_has_is_refused() {
    for (fields, field, what) in OF_A_CONTROL_PLANE {
        let expected = format!(
            "{field}: a static pod may not use {what}, which only a control plane provides"
        );
        assert_eq!(error(&with_container(fields)), expected);
    }
}

/// Fields of a container or pod, and what is told of them.
const WRONG: &[(&str, &str)] = &[
    (
        "    volumeMounts: [{name: v, mountPath: /v}]\n",
        "spec.containers[0].volumeMounts[0].name: there is no volume \"v\"",
    ),
    (
        "    volumeMounts: [{name: v, mountPath: 'a:b'}]\n  volumes: [{name: v}]\n",
        "spec.containers[0].volumeMounts[0].mountPath: it must be a path without :",
    ),
    (
        "    volumeMounts: [{name: v, mountPath: /a, subPath: ../x}]\n  volumes: [{name: v}]\n",
        "spec.containers[0].volumeMounts[0].subPath: it must be a path inside the volume, not absolute and without ..",
    ),
    (
        "    volumeMounts: [{name: v, mountPath: /a, mountPropagation: Bidirectional}]\n  volumes: [{name: v}]\n",
        "spec.containers[0].volumeMounts[0].mountPropagation: Bidirectional needs a privileged container",
    ),
    (
        "    volumeMounts: [{name: v, mountPath: /a, recursiveReadOnly: Enabled}]\n  volumes: [{name: v}]\n",
        "spec.containers[0].volumeMounts[0].recursiveReadOnly: it needs readOnly: true",
    ),
    (
        "    ports: [{containerPort: 70000}]\n",
        "spec.containers[0].ports[0].containerPort: 70000 is wrong, it must be between 1 and 65535",
    ),
    (
        "    ports: [{containerPort: 1, protocol: tcp}]\n",
        "spec.containers[0].ports[0].protocol: \"tcp\" is wrong, it must be one of TCP, UDP, SCTP",
    ),
    (
        "    ports: [{containerPort: 1, name: Web_1}]\n",
        "spec.containers[0].ports[0].name: it must have at most 15 characters, a-z, 0-9 and -, with at least one letter",
    ),
    (
        "    ports: [{containerPort: 1, hostPort: 5}, {containerPort: 2, hostPort: 5}]\n",
        "spec.containers[0].ports[1].hostPort: 5 is taken by another port of this pod",
    ),
    (
        "    livenessProbe: {httpGet: {port: web}}\n",
        "spec.containers[0].livenessProbe.httpGet.port: this container has no port named \"web\"",
    ),
    (
        "    livenessProbe: {}\n",
        "spec.containers[0].livenessProbe: it must have exactly one of exec, httpGet, tcpSocket and grpc",
    ),
    (
        "    livenessProbe: {exec: {command: [a]}, successThreshold: 2}\n",
        "spec.containers[0].livenessProbe.successThreshold: it must be 1",
    ),
    (
        "    readinessProbe: {exec: {command: [a]}, terminationGracePeriodSeconds: 2}\n",
        "spec.containers[0].readinessProbe.terminationGracePeriodSeconds: a readiness probe stops nothing, so it has no grace",
    ),
    (
        "    livenessProbe: {exec: {}}\n",
        "spec.containers[0].livenessProbe.exec.command: it is missing",
    ),
    (
        "    livenessProbe: {exec: {command: [a]}, periodSeconds: -1}\n",
        "spec.containers[0].livenessProbe.periodSeconds: -1 is wrong, it must be 1 or more",
    ),
    (
        "    lifecycle: {preStop: {sleep: {seconds: 31}}}\n",
        "spec.containers[0].lifecycle.preStop.sleep.seconds: 31 is wrong, it must be between 0 and 30",
    ),
    (
        "    resources: {limits: {cpu: two}}\n",
        "spec.containers[0].resources.limits.cpu: quantity \"two\" does not begin with a number, write for instance 500m, 2 or 1.5Gi",
    ),
    (
        "    resources: {requests: {cpu: 2}, limits: {cpu: 1}}\n",
        "spec.containers[0].resources.requests.cpu: 2 is above the limit 1",
    ),
    (
        "    resources: {requests: {nvidia.com/gpu: 1}}\n",
        "spec.containers[0].resources.requests.nvidia.com/gpu: it needs the same amount in limits",
    ),
    (
        "    resources: {requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 2}}\n",
        "spec.containers[0].resources.requests.nvidia.com/gpu: 1 must be equal to the limit 2",
    ),
    (
        "    resources: {requests: {memory: -1Gi}}\n",
        "spec.containers[0].resources.requests.memory: -1Gi is below zero",
    ),
    (
        "    resources: {requests: {gpu: 1}}\n",
        "spec.containers[0].resources.requests.gpu: no such resource; there are cpu, memory, ephemeral-storage, hugepages-<size> and names with a domain such as nvidia.com/gpu",
    ),
    (
        "    env: [{name: A=B}]\n",
        "spec.containers[0].env[0].name: it must be printable ASCII without =, and not empty",
    ),
    (
        "    imagePullPolicy: Sometimes\n",
        "spec.containers[0].imagePullPolicy: \"Sometimes\" is wrong, it must be one of Always, IfNotPresent, Never",
    ),
    (
        "    securityContext: {runAsUser: -1}\n",
        "spec.containers[0].securityContext.runAsUser: -1 is wrong, it must be between 0 and 2147483647",
    ),
    (
        "    securityContext: {privileged: true, allowPrivilegeEscalation: false}\n",
        "spec.containers[0].securityContext.allowPrivilegeEscalation: it cannot be false together with privileged or CAP_SYS_ADMIN",
    ),
    (
        "  - {name: main, image: 'x:1'}\n",
        "spec.containers[1].name: \"main\" is the name of another container of this pod",
    ),
    (
        "  - {name: other}\n",
        "spec.containers[1].image: it is missing",
    ),
    (
        "  - {name: Other, image: 'x:1'}\n",
        "spec.containers[1].name: it must have at most 63 characters, a-z, 0-9 and -, with a letter or digit at both ends",
    ),
    (
        "  initContainers: [{name: i, image: 'x:1', livenessProbe: {exec: {command: [a]}}}]\n",
        "spec.initContainers[0].livenessProbe: only containers and sidecars may have it",
    ),
    (
        "  restartPolicy: Sometimes\n",
        "spec.restartPolicy: \"Sometimes\" is wrong, it must be one of Always, OnFailure, Never",
    ),
    (
        "  dnsPolicy: None\n",
        "spec.dnsConfig.nameservers: dnsPolicy None needs at least one",
    ),
    (
        "  hostAliases: [{ip: here, hostnames: [a]}]\n",
        "spec.hostAliases[0].ip: it must be an IP address",
    ),
    (
        "  ephemeralContainers: [{name: e}]\n",
        "spec.ephemeralContainers: they can only be added to a pod that runs",
    ),
    (
        "  securityContext: {fsGroup: -5}\n",
        "spec.securityContext.fsGroup: -5 is wrong, it must be between 0 and 2147483647",
    ),
    (
        "  volumes: [{name: V}]\n",
        "spec.volumes[0].name: it must have at most 63 characters, a-z, 0-9 and -, with a letter or digit at both ends",
    ),
    (
        "  volumes: [{name: v}, {name: v}]\n",
        "spec.volumes[1].name: \"v\" is the name of another volume of this pod",
    ),
    (
        "  volumes: [{name: v, emptyDir: {}, hostPath: {path: /x}}]\n",
        "spec.volumes[0]: it must have exactly one source",
    ),
    (
        "  volumes: [{name: v, iscsi: {targetPortal: p, iqn: q, lun: 0}}]\n",
        "spec.volumes[0]: this version has emptyDir, hostPath, downwardAPI, projected, image and nfs volumes",
    ),
    (
        "  volumes: [{name: v, nfs: {server: '', path: /}}]\n",
        "spec.volumes[0].nfs.server: it is missing",
    ),
    (
        "  volumes: [{name: v, nfs: {server: s, path: export}}]\n",
        "spec.volumes[0].nfs.path: it must be an absolute path",
    ),
    (
        "  volumes: [{name: v, emptyDir: {medium: Disk}}]\n",
        "spec.volumes[0].emptyDir.medium: it must be empty, Memory, HugePages or HugePages-<size>",
    ),
    (
        "  volumes: [{name: v, hostPath: {path: /a/../b}}]\n",
        "spec.volumes[0].hostPath.path: it must be an absolute path without ..",
    ),
    (
        "  volumes: [{name: v, hostPath: {path: /a, type: Fifo}}]\n",
        "spec.volumes[0].hostPath.type: \"Fifo\" is wrong, it must be one of , DirectoryOrCreate, Directory, FileOrCreate, File, Socket, CharDevice, BlockDevice",
    ),
    (
        "  volumes: [{name: v, downwardAPI: {defaultMode: 0o1777}}]\n",
        "spec.volumes[0].downwardAPI.defaultMode: 0o1777 is wrong, it must be between 0 and 0777",
    ),
    (
        "  volumes: [{name: v, downwardAPI: {items: [{path: ../x, fieldRef: {fieldPath: metadata.name}}]}}]\n",
        "spec.volumes[0].downwardAPI.items[0].path: it must be a path inside the volume, not absolute and without ..",
    ),
    (
        "  volumes: [{name: v, downwardAPI: {items: [{path: x, fieldRef: {fieldPath: status.podIP}}]}}]\n",
        "spec.volumes[0].downwardAPI.items[0].fieldRef.fieldPath: \"status.podIP\" is wrong, it must be one of metadata.name, metadata.namespace, metadata.uid, metadata.labels, metadata.annotations",
    ),
];

#[test]
fn each_wrong_value_names_its_field() {
    for (fields, expected) in WRONG {
        assert_eq!(error(&with_container(fields)), *expected, "{fields}");
    }
}

#[test]
fn names_are_checked_since_they_become_paths() {
    let subdomain = "it must have at most 253 characters, a-z, 0-9, - and ., with a letter or digit at both ends";
    let label =
        "it must have at most 63 characters, a-z, 0-9 and -, with a letter or digit at both ends";
    let uid = "it must have at most 128 characters, letters, digits, - and ., with a letter or digit at both ends";
    for (metadata, expected) in [
        ("{}", "metadata.name: it is missing".to_owned()),
        ("{name: Web}", format!("metadata.name: {subdomain}")),
        (
            "{name: a, namespace: a/b}",
            format!("metadata.namespace: {label}"),
        ),
        ("{name: a, uid: ../../etc}", format!("metadata.uid: {uid}")),
    ] {
        assert_eq!(
            error(&with_container("").replace("{name: web}", metadata)),
            expected
        );
    }
}

#[test]
fn a_pod_has_a_specification_with_containers() {
    assert_eq!(
        error(&with_spec("  containers: []\n")),
        "spec.containers: there must be at least one"
    );
    let bare = "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n";
    assert_eq!(error(bare), "spec: it is missing");
}

#[test]
fn all_problems_of_a_manifest_are_told_together() {
    let text = with_container("    ports: [{containerPort: 0}]\n  restartPolicy: x\n")
        .replace("busybox:1", "''");
    let found = error(&text);
    for field in [
        "spec.restartPolicy: ",
        "spec.containers[0].image: ",
        "ports[0].containerPort: ",
    ] {
        assert!(found.contains(field), "{field} is missing in {found}");
    }
}

#[test]
fn device_counts_are_whole_numbers() {
    for (count, right) in [
        ("8", true),
        ("1500m", false),
        ("0.5", false),
        ("2k", true),
        ("5G", false),
    ] {
        let text = with_container(&format!(
            "    resources: {{limits: {{nvidia.com/gpu: '{count}'}}}}\n"
        ));
        assert_eq!(read(&text).is_ok(), right, "{count}");
    }
}

#[test]
fn a_static_pod_may_have_an_export_of_an_nfs_server() {
    let text =
        with_container("  volumes: [{name: v, nfs: {server: s, path: /export, readOnly: true}}]\n");
    read(&text).unwrap();
}
