#![allow(clippy::unwrap_used, clippy::expect_used)]

use agent_core::FailKind;
use k8s_openapi::api::core::v1::Volume;
use serde_json::{Value, json};

use super::super::testing::{Bed, pod};
use super::{Kind, Shown, resolve};

fn volume(source: Value) -> Volume {
    let mut whole = json!({"name": "v"});
    let source = source.as_object().unwrap().clone();
    whole.as_object_mut().unwrap().extend(source);
    serde_json::from_value(whole).unwrap()
}

/// Name, kind and whether it is read-only, of a claim `c` that is bound to this.
fn bound(spec: Value, source: Value) -> (String, String, bool) {
    let mut bed = Bed::new();
    let metadata = json!({"name": "pv.1", "annotations": spec["annotations"]});
    bed.claim("c", json!({"metadata": metadata, "spec": spec}));
    bed.claim("web-v", json!({"metadata": metadata, "spec": spec}));
    let (pod, volume) = (pod(json!({})), volume(source));
    let resolved = resolve(&pod, &bed.references, &volume).unwrap();
    let kind = match &resolved.kind {
        Kind::Local { source, options } => format!("local {} {options:?}", source.path),
        Kind::Nfs { source, options } => format!("nfs {} {options:?}", source.server),
        Kind::HostPath(source) => format!("host {}", source.path),
        Kind::Csi => "csi".to_owned(),
        other => format!("{other:?}"),
    };
    (resolved.name.to_owned(), kind, resolved.read_only)
}

#[test]
fn a_claim_stands_for_its_volume() {
    let claim = |read_only: bool| json!({"persistentVolumeClaim": {"claimName": "c", "readOnly": read_only}});
    let local = json!({"local": {"path": "/d"}, "mountOptions": ["noatime"]});
    let older = json!({"nfs": {"server": "s", "path": "/"}, "mountOptions": ["a"],
        "annotations": {"volume.beta.kubernetes.io/mount-options": "soft,nfsvers=4"}});
    let host = json!({"hostPath": {"path": "/h"}});
    let csi = json!({"csi": {"driver": "d", "volumeHandle": "h"}});
    for (spec, source, kind, read_only) in [
        (&local, claim(false), "local /d [\"noatime\"]", false),
        (&local, claim(true), "local /d [\"noatime\"]", true),
        (
            &local,
            json!({"ephemeral": {}}),
            "local /d [\"noatime\"]",
            false,
        ),
        (
            &older,
            claim(false),
            "nfs s [\"soft\", \"nfsvers=4\"]",
            false,
        ),
        (&host, claim(true), "host /h", true),
        (&csi, claim(false), "csi", false),
    ] {
        let expected = ("pv.1".to_owned(), kind.to_owned(), read_only);
        assert_eq!(bound(spec.clone(), source), expected);
    }
}

#[test]
fn what_the_agent_writes_is_read_only() {
    let (bed, pod) = (Bed::new(), pod(json!({})));
    for (source, read_only) in [
        (json!({"emptyDir": {}}), false),
        (json!({"hostPath": {"path": "/"}}), false),
        (json!({"secret": {"secretName": "s"}}), true),
        (json!({"configMap": {"name": "m"}}), true),
        (json!({"downwardAPI": {}}), true),
        (json!({"projected": {}}), true),
        (json!({"image": {"reference": "i"}}), true),
        (json!({"nfs": {"server": "s", "path": "/"}}), false),
        (
            json!({"nfs": {"server": "s", "path": "/", "readOnly": true}}),
            true,
        ),
    ] {
        let volume = volume(source);
        let resolved = resolve(&pod, &bed.references, &volume).unwrap();
        assert_eq!(resolved.read_only, read_only, "{:?}", resolved.kind);
        let image = volume.image.is_some();
        assert_eq!(resolved.shown() == Shown::Image("i"), image);
    }
}

#[test]
fn a_block_volume_is_a_device_and_nothing_else() {
    let table = [
        (
            Some("Block"),
            true,
            "raw block (volumeDevices) volumes are not in this version",
        ),
        (
            Some("Block"),
            false,
            "volume v has volumeMode Block, but is specified in volumeMounts",
        ),
        (
            None,
            true,
            "volume v has volumeMode Filesystem, but is specified in volumeDevices",
        ),
    ];
    for (mode, as_device, expected) in table {
        let mut bed = Bed::new();
        let spec = json!({"volumeMode": mode, "local": {"path": "/dev/null"}});
        bed.claim("c", json!({"metadata": {"name": "pv"}, "spec": spec}));
        let volume = json!({"name": "v", "persistentVolumeClaim": {"claimName": "c"}});
        let used = if as_device {
            json!({"name": "c", "volumeDevices": [{"name": "v", "devicePath": "/dev/x"}]})
        } else {
            json!({"name": "c"})
        };
        let pod = pod(json!({"containers": [used], "volumes": [volume]}));
        let fail = bed.make(&pod).unwrap_err().fail("X");
        assert_eq!(fail.kind, FailKind::Permanent, "{fail}");
        assert!(fail.message.starts_with(expected), "{fail}");
    }
}

#[test]
fn a_name_from_the_api_is_no_path() {
    for name in ["", ".", "..", "../x", "a/b"] {
        let mut bed = Bed::new();
        let spec = json!({"hostPath": {"path": "/"}});
        bed.claim("c", json!({"metadata": {"name": name}, "spec": spec}));
        let volume = volume(json!({"persistentVolumeClaim": {"claimName": "c"}}));
        let error = resolve(&pod(json!({})), &bed.references, &volume).unwrap_err();
        assert!(
            error.to_string().contains("is no name of a volume"),
            "{error}"
        );
    }
}
