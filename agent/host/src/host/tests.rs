#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agent_core::{
    ContainerId, ContainerName, Fail, FailKind, PodName, PodUid, PodWant, RestartPolicy,
};
use agent_loops::ports::{
    ContainerInstance, Host, LogOwner, MountSource, PreparedMount, PreparedPod, References,
    WantedPod,
};
use k8s_openapi::api::core::v1::{Pod, Secret};
use serde_json::{Value, json};

use super::{HostSettings, LocalHost};
use crate::cgroup::{Capacity, CgroupSettings, CgroupVersion, Tree, detect, driver};
use crate::facts::is_root;
use crate::logs::LogLimits;
use crate::testing::{folder, skip, with_own_mounts};
use crate::user_namespace::UserNamespaceSettings;

/// A host below a scratch folder. With cgroups, these lie below a root of their own.
struct Bed {
    _folder: tempfile::TempDir,
    path: PathBuf,
    host: LocalHost,
    cgroups: Option<String>,
}

impl Bed {
    fn new(cgroups: Option<&str>) -> Self {
        let (folder, path) = folder();
        fs::write(path.join("resolv.conf"), "nameserver 10.0.0.1\n").unwrap();
        let version = detect().unwrap_or(CgroupVersion::V2 {
            root: path.join("cgroup"),
        });
        let driver = driver("cgroupfs", version, false).unwrap();
        let root = cgroups.map(|name| format!("gpulet-test-{name}-{}", std::process::id()));
        let settings = CgroupSettings {
            root: root.clone().unwrap_or_default(),
            per_qos: root.is_some(),
            enforce: Vec::new(),
            ..CgroupSettings::default()
        };
        let tree = Tree::new(Arc::clone(&driver), settings, Capacity::of_host());
        let host = LocalHost::open(settings_in(&path), tree).unwrap();
        Self {
            _folder: folder,
            path,
            host,
            cgroups: root,
        }
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        if let Some(root) = &self.cgroups {
            driver("cgroupfs", detect().unwrap(), false)
                .unwrap()
                .remove(root)
                .unwrap();
        }
    }
}

fn settings_in(path: &Path) -> HostSettings {
    HostSettings {
        root: path.join("root"),
        pod_logs: path.join("logs"),
        resolv_conf: path.join("resolv.conf"),
        cluster_domain: "cluster.local".to_owned(),
        logs: LogLimits::default(),
        user_namespaces: UserNamespaceSettings::default(),
    }
}

fn wanted(uid: &str, spec: Value) -> WantedPod {
    let metadata =
        json!({"name": "web-n", "namespace": "shop", "uid": uid, "labels": {"app": "web"}});
    let pod: Pod = serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap();
    let want = PodWant {
        ephemeral: Vec::new(),
        deletion: None,
        over: None,
        needs: Default::default(),
        started_at: None,
        restarts: Default::default(),
        uid: PodUid::new(uid),
        name: PodName::new("shop", "web-n"),
        is_static: true,
        host_network: false,
        restart: RestartPolicy::Always,
        grace: Duration::from_secs(30),
        active_deadline: None,
        init: Vec::new(),
        containers: Vec::new(),
    };
    WantedPod {
        want: Arc::new(want),
        manifest: Arc::new(pod),
    }
}

/// Source by container path, of the host relative to the bed.
fn shown(bed: &Bed, mounts: &[PreparedMount]) -> BTreeMap<String, (String, bool)> {
    let inside = |path: &Path| {
        path.strip_prefix(&bed.path)
            .unwrap_or(path)
            .display()
            .to_string()
    };
    let source = |source: &MountSource| match source {
        MountSource::Path(path) => inside(path),
        MountSource::Image {
            volume,
            reference,
            sub_path,
        } => format!("{volume}: {reference} {sub_path}"),
    };
    mounts
        .iter()
        .map(|mount| {
            (
                mount.container_path.clone(),
                (source(&mount.source), mount.read_only),
            )
        })
        .collect()
}

/// Runs `test` on a runtime of one thread, so that its blocking threads see what this one sees.
fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(test)
}

/// A container with mounts of all kinds.
fn full_spec() -> Value {
    json!({
        "containers": [{
            "name": "main",
            "terminationMessagePath": "dev/end",
            "env": [{"name": "PART", "value": "b"}, {"name": "FULL", "value": "a-$(PART)"}],
            "resources": {"requests": {"cpu": "100m"}},
            "volumeMounts": [
                {"name": "disk", "mountPath": "/disk"},
                {"name": "disk", "mountPath": "relative", "readOnly": true, "subPathExpr": "$(FULL)/c"},
                {"name": "memory", "mountPath": "/memory", "mountPropagation": "HostToContainer"},
                {"name": "facts", "mountPath": "/facts"},
                {"name": "facts", "mountPath": "/one-fact", "subPath": "labels"},
                {"name": "picture", "mountPath": "/picture", "subPath": "in/side"},
                {"name": "hidden", "mountPath": "/hidden", "subPathExpr": "$(KEY)"}
            ],
            "envFrom": [{"secretRef": {"name": "s"}}]
        }],
        "volumes": [
            {"name": "disk", "emptyDir": {}},
            {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
            {"name": "facts", "downwardAPI": {"items": [
                {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
            {"name": "picture", "image": {"reference": "x"}},
            {"name": "hidden", "secret": {"secretName": "s"}},
            {"name": "unused", "configMap": {"name": "none"}}
        ]
    })
}

/// The secret that [`full_spec`] names. Its value of `KEY` is the name of another key.
fn references() -> Arc<References> {
    let secret = json!({"data": {"KEY": "cGFydA==", "part": "Y29udGVudA=="}});
    let secret = serde_json::from_value(secret).unwrap();
    let mut references = References::default();
    let secrets = &mut references.secrets;
    secrets.insert("s".to_owned(), Ok(Arc::new(secret)));
    Arc::new(references)
}

/// Container path, host path below the pod's folder, read-only: what [`full_spec`] gives.
const FULL_MOUNTS: &[(&str, &str, bool)] = &[
    ("/disk", "volumes/kubernetes.io~empty-dir/disk", false),
    ("/relative", "volume-subpaths/disk/main/1", true),
    ("/memory", "volumes/kubernetes.io~empty-dir/memory", false),
    ("/facts", "volumes/kubernetes.io~downward-api/facts", true),
    ("/one-fact", "volume-subpaths/facts/main/4", true),
    ("/hidden", "volume-subpaths/hidden/main/6", true),
    ("/etc/hosts", "etc-hosts", false),
    ("/dev/end", "containers/main/00000002", false),
];

#[test]
fn a_pod_comes_and_goes_without_a_trace() {
    with_own_mounts(
        "a_pod_comes_and_goes_without_a_trace",
        || run(come_and_go()),
    );
}

async fn come_and_go() {
    let bed = Bed::new(Some("whole"));
    let pod = wanted("uid-1", full_spec());
    let references = references();
    let prepared = bed.host.prepare_pod(&pod, &references).await.unwrap();
    assert_eq!(
        prepared,
        bed.host.prepare_pod(&pod, &references).await.unwrap(),
        "it may be repeated"
    );
    let parent = format!(
        "/{}/kubepods/burstable/poduid-1",
        bed.cgroups.as_ref().unwrap()
    );
    assert_eq!(prepared.cgroup_parent, parent);
    assert_eq!(
        prepared.log_directory,
        bed.path.join("logs/shop_web-n_uid-1")
    );
    assert_eq!(prepared.resolver.servers, ["10.0.0.1"]);
    let (name, ips) = (ContainerName::new("main"), ["10.1.0.5".to_owned()]);
    let own = bed
        .host
        .prepare_container(instance(&pod, &prepared, &name, 2, &ips, &references))
        .await
        .unwrap();
    let again = bed
        .host
        .prepare_container(instance(&pod, &prepared, &name, 2, &ips, &references))
        .await
        .unwrap();
    assert_eq!(own, again, "it may be repeated");
    let base = "root/pods/uid-1";
    let expected: BTreeMap<String, (String, bool)> = FULL_MOUNTS
        .iter()
        .map(|(inside, outside, ro)| (inside.to_string(), (format!("{base}/{outside}"), *ro)))
        .chain([(
            "/picture".to_owned(),
            ("picture: x in/side".to_owned(), true),
        )])
        .collect();
    assert_eq!(shown(&bed, &own.mounts), expected);
    let at = |path: &str| bed.path.join(base).join(path);
    fs::write(at("volumes/kubernetes.io~empty-dir/disk/a-b/c/file"), "x").unwrap();
    assert!(at("volume-subpaths/disk/main/1/file").exists());
    let fact = fs::read_to_string(at("volume-subpaths/facts/main/4")).unwrap();
    assert_eq!(fact, "app=\"web\"");
    let hidden = fs::read_to_string(at("volume-subpaths/hidden/main/6")).unwrap();
    assert_eq!(hidden, "content");
    let uid = PodUid::new("uid-1");
    assert_eq!(bed.host.leftovers().await.unwrap(), [uid.clone()].into());
    bed.host.clean_pod(&uid).await.unwrap();
    bed.host.clean_pod(&uid).await.unwrap();
    assert!(bed.host.leftovers().await.unwrap().is_empty());
    assert!(!bed.path.join(base).exists());
}

#[test]
fn messages_and_logs_are_found_rotated_and_removed() {
    if !is_root() {
        return skip(
            "messages_and_logs_are_found_rotated_and_removed",
            "the bed needs root",
        );
    }
    run(async {
        let bed = Bed::new(None);
        let spec = json!({"containers": [
            {"name": "main", "terminationMessagePolicy": "FallbackToLogsOnError",
             "terminationMessagePath": "/dev/termination-log"}]});
        let pod = wanted("uid-2", spec);
        let name = ContainerName::new("main");
        let prepared = bed.host.prepare_pod(&pod, &Arc::default()).await.unwrap();
        bed.host
            .prepare_container(instance(&pod, &prepared, &name, 0, &[], &Arc::default()))
            .await
            .unwrap();
        let log = bed.path.join("logs/shop_web-n_uid-2/main/0.log");
        fs::write(&log, "t stdout F the end\n").unwrap();
        let message = |failed| bed.host.termination_message(&pod, &name, 0, failed);
        assert_eq!(
            message(false).await.unwrap(),
            "",
            "only a failure falls back to the log"
        );
        assert_eq!(message(true).await.unwrap(), "the end\n");
        let file = bed.path.join("root/pods/uid-2/containers/main/00000000");
        fs::write(&file, "said").unwrap();
        assert_eq!(message(true).await.unwrap(), "said");
        let owner = LogOwner {
            namespace: "shop".to_owned(),
            name: "web-n".to_owned(),
            uid: PodUid::new("uid-2"),
        };
        assert!(!bed.host.rotate_log(&owner, &name, 0).await.unwrap());
        fs::File::options()
            .write(true)
            .open(&log)
            .unwrap()
            .set_len(10 * 1024 * 1024)
            .unwrap();
        assert!(bed.host.rotate_log(&owner, &name, 0).await.unwrap());
        bed.host
            .remove_logs(&owner, Some((&name, 0)))
            .await
            .unwrap();
        assert!(
            !file.exists()
                && fs::read_dir(log.parent().unwrap())
                    .unwrap()
                    .next()
                    .is_none()
        );
        bed.host.remove_logs(&owner, None).await.unwrap();
        assert!(!bed.path.join("logs/shop_web-n_uid-2").exists());
        let id = ContainerId::new("abc");
        bed.host.link_log(&owner, &name, 0, &id).await.unwrap();
        assert!(!Path::new("/var/log/containers/web-n_shop_main-abc.log").is_symlink());
    });
}

#[test]
fn bad_input_is_a_typed_failure() {
    if !is_root() {
        return skip("bad_input_is_a_typed_failure", "the bed needs root");
    }
    run(async {
        let bed = Bed::new(None);
        let pods = bed.path.join("root/pods");
        for uid in ["", ".", "..", "../../x", "a/b"] {
            let fail = bed.host.clean_pod(&PodUid::new(uid)).await.unwrap_err();
            assert_eq!(fail.kind, FailKind::Permanent, "{uid:?}");
        }
        assert!(pods.is_dir());
        let user = json!([{"name": "c", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]);
        let csi = json!({"containers": user, "volumes": [{"name": "v", "csi": {"driver": "d"}}]});
        let fail = bed
            .host
            .prepare_pod(&wanted("u", csi), &Arc::default())
            .await
            .unwrap_err();
        assert_eq!(
            (fail.kind, fail.reason),
            (FailKind::Permanent, "FailedMount")
        );
        let path = json!({"containers": user, "volumes": [
            {"name": "v", "hostPath": {"path": "/nowhere/at/all", "type": "Directory"}}]});
        let fail = bed
            .host
            .prepare_pod(&wanted("u", path), &Arc::default())
            .await
            .unwrap_err();
        assert_eq!((fail.kind, fail.reason), (FailKind::Retry, "FailedMount"));
        let pod = wanted("u", json!({"containers": []}));
        let prepared = bed.host.prepare_pod(&pod, &Arc::default()).await.unwrap();
        let none = ContainerName::new("none");
        let fail = bed
            .host
            .prepare_container(instance(&pod, &prepared, &none, 0, &[], &Arc::default()))
            .await
            .unwrap_err();
        assert_eq!(
            (fail.kind, fail.reason),
            (FailKind::Permanent, "CreateContainerConfigError")
        );
        fs::remove_file(bed.path.join("resolv.conf")).unwrap();
        let fail = bed
            .host
            .prepare_pod(&pod, &Arc::default())
            .await
            .unwrap_err();
        assert_eq!(
            (fail.kind, fail.reason),
            (FailKind::Retry, "DNSConfigForming")
        );
        assert!(
            fail.message.contains("resolv.conf cannot be read"),
            "{}",
            fail.message
        );
    });
}

#[test]
fn the_agents_folders_are_closed_to_others() {
    use std::os::unix::fs::PermissionsExt;
    if !is_root() {
        return skip(
            "the_agents_folders_are_closed_to_others",
            "the bed needs root",
        );
    }
    run(async {
        let bed = Bed::new(None);
        bed.host
            .prepare_pod(&wanted("u", json!({"containers": []})), &Arc::default())
            .await
            .unwrap();
        for (path, mode) in [
            ("root", 0o750),
            ("root/pods", 0o750),
            ("root/pods/u", 0o750),
            ("logs", 0o755),
        ] {
            let found = fs::metadata(bed.path.join(path))
                .unwrap()
                .permissions()
                .mode()
                & 0o7777;
            assert_eq!(found, mode, "{path}");
        }
    });
}

#[test]
fn containers_side_by_side_do_not_take_each_others_files() {
    with_own_mounts(
        "containers_side_by_side_do_not_take_each_others_files",
        || {
            run(async {
                let bed = Bed::new(None);
                let user =
                    json!([{"name": "c", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]);
                let volumes = json!([{"name": "v", "secret": {"secretName": "s"}}]);
                let pod = wanted("u", json!({"containers": user, "volumes": volumes}));
                let mut works = tokio::task::JoinSet::new();
                for number in 0..24 {
                    let (host, pod) = (bed.host.clone(), pod.clone());
                    let data = k8s_openapi::ByteString(vec![b'x'; number % 7]);
                    let secret = Secret {
                        data: Some([("key".to_owned(), data)].into()),
                        ..Secret::default()
                    };
                    let mut references = References::default();
                    let secrets = &mut references.secrets;
                    secrets.insert("s".to_owned(), Ok(Arc::new(secret)));
                    let references = Arc::new(references);
                    works.spawn(async move { host.prepare_pod(&pod, &references).await });
                }
                for outcome in works.join_all().await {
                    assert_eq!(outcome.unwrap().stale, []);
                }
                let path = bed.path.join("root/pods/u/volumes/kubernetes.io~secret/v");
                assert!(fs::read(path.join("key")).unwrap().len() < 7);
                let names = fs::read_dir(&path).unwrap().count();
                assert_eq!(names, 3, "the key, the link and one content");
                assert_eq!(crate::mounts::below(&path).unwrap().len(), 1);
                bed.host.clean_pod(&PodUid::new("u")).await.unwrap();
            });
        },
    );
}

#[test]
fn an_ephemeral_container_gets_what_any_other_gets() {
    with_own_mounts("an_ephemeral_container_gets_what_any_other_gets", || {
        run(async {
            let bed = Bed::new(None);
            let mount = json!([{"name": "v", "mountPath": "/v"}]);
            let debug =
                json!([{"name": "debug", "terminationMessagePath": "/end", "volumeMounts": mount}]);
            let pod = wanted(
                "u",
                json!({"containers": [], "ephemeralContainers": debug, "volumes": [{"name": "v", "emptyDir": {}}]}),
            );
            let none = Arc::default();
            let prepared = bed.host.prepare_pod(&pod, &none).await.unwrap();
            let name = ContainerName::new("debug");
            let own = bed
                .host
                .prepare_container(instance(&pod, &prepared, &name, 0, &[], &none));
            let shown = shown(&bed, &own.await.unwrap().mounts);
            assert_eq!(shown.keys().collect::<Vec<_>>(), ["/end", "/v"]);
            bed.host.clean_pod(&PodUid::new("u")).await.unwrap();
        });
    });
}

#[test]
fn a_mount_without_its_volume_is_told() {
    if !is_root() {
        return skip("a_mount_without_its_volume_is_told", "the bed needs root");
    }
    run(async {
        let bed = Bed::new(None);
        let mount = json!([{"name": "v", "mountPath": "/v"}]);
        let spec = json!({"containers": [{"name": "c", "volumeMounts": mount}]});
        let pod = wanted("u", spec);
        let none = Arc::default();
        let prepared = bed.host.prepare_pod(&pod, &none).await.unwrap();
        let name = ContainerName::new("c");
        let own = bed
            .host
            .prepare_container(instance(&pod, &prepared, &name, 0, &[], &none));
        let expected = "cannot find volume \"v\" to mount into container \"c\"";
        assert_eq!(
            own.await.unwrap_err(),
            Fail::retry("CreateContainerConfigError", expected)
        );
    });
}

#[test]
fn a_pod_with_users_of_its_own_has_a_range() {
    let bed = Bed::new(None);
    let spec = |host_users: bool| json!({"containers": [], "hostUsers": host_users});
    let prepared = |uid: &str, host_users: bool| {
        let pod = wanted(uid, spec(host_users));
        let prepared = run(bed.host.prepare_pod(&pod, &Arc::default()));
        prepared.unwrap().user_namespace
    };
    assert_eq!(prepared("uid-1", true), None);
    let one = prepared("uid-2", false).unwrap();
    let two = prepared("uid-3", false).unwrap();
    assert_ne!(one.first, two.first);
    assert_eq!(prepared("uid-2", false), Some(one));
    run(bed.host.clean_pod(&PodUid::new("uid-2"))).unwrap();
    assert_eq!(prepared("uid-4", false), Some(one));
}

#[test]
fn ephemeral_containers_are_made_ready_like_others() {
    let bed = Bed::new(None);
    let debug = json!({"name": "debug", "terminationMessagePath": "/dev/end"});
    let pod = wanted(
        "uid-1",
        json!({"containers": [], "ephemeralContainers": [debug]}),
    );
    let name = ContainerName::new("debug");
    let made = run(async {
        let references = Arc::default();
        let prepared = bed.host.prepare_pod(&pod, &references).await.unwrap();
        let made =
            bed.host
                .prepare_container(instance(&pod, &prepared, &name, 0, &[], &references));
        made.await.unwrap()
    });
    let paths: Vec<&str> = made
        .mounts
        .iter()
        .map(|mount| &*mount.container_path)
        .collect();
    assert_eq!(paths, ["/dev/end"]);
}

fn instance<'a>(
    pod: &'a WantedPod,
    prepared: &'a PreparedPod,
    container: &'a ContainerName,
    attempt: u32,
    ips: &'a [String],
    references: &'a Arc<References>,
) -> ContainerInstance<'a> {
    ContainerInstance {
        pod,
        prepared,
        container,
        attempt,
        ips,
        references,
    }
}
