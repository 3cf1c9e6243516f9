#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::sync::Arc;

use agent_core::FailKind;
use serde_json::{Value, json};

use super::super::testing::{Bed, mode, mounted, pod};
use crate::testing::with_own_mounts;

fn give(bed: &mut Bed, map: Value) {
    let map = serde_json::from_value(map).unwrap();
    let maps = &mut bed.references.config_maps;
    maps.insert("m".to_owned(), Ok(Arc::new(map)));
}

#[test]
fn text_and_bytes_are_files_on_disk() {
    with_own_mounts("text_and_bytes_are_files_on_disk", || {
        for group in [None, Some(4321)] {
            let mut bed = Bed::new();
            let data = json!({"text": "t", "other": "o"});
            give(
                &mut bed,
                json!({"data": data, "binaryData": {"raw": "AP8="}}),
            );
            let pod = pod(json!({
                "securityContext": {"fsGroup": group},
                "volumes": [{"name": "v", "configMap": {"name": "m", "defaultMode": 0o640}}],
            }));
            let path = bed.make(&pod).unwrap()["v"].clone();
            assert_eq!(path, bed.volume("configmap", "v"));
            assert_eq!(fs::read(path.join("raw")).unwrap(), [0, 0xff]);
            assert_eq!(fs::read_to_string(path.join("text")).unwrap(), "t");
            assert_eq!(mode(&fs::canonicalize(path.join("raw")).unwrap()), 0o640);
            assert_eq!(mode(&path), if group.is_some() { 0o2777 } else { 0o777 });
            assert_eq!(mounted(&path), 0);
            give(&mut bed, json!({"data": {"text": "new"}}));
            bed.make(&pod).unwrap();
            assert_eq!(fs::read_to_string(path.join("text")).unwrap(), "new");
            assert!(!path.join("raw").exists() && !path.join("other").is_symlink());
        }
    });
}

#[test]
fn items_name_text_and_bytes() {
    with_own_mounts("items_name_text_and_bytes", || {
        let mut bed = Bed::new();
        give(
            &mut bed,
            json!({"data": {"a": "1"}, "binaryData": {"b": "Mg=="}}),
        );
        let with = |items: Value, optional: bool| {
            let source = json!({"name": "m", "items": items, "optional": optional});
            pod(json!({"volumes": [{"name": "v", "configMap": source}]}))
        };
        let both = json!([{"key": "a", "path": "x/a"}, {"key": "b", "path": "x/b", "mode": 0o400}]);
        let path = bed.make(&with(both, false)).unwrap()["v"].clone();
        let read = |name: &str| fs::read_to_string(path.join(name)).unwrap();
        assert_eq!((read("x/a"), read("x/b")), ("1".into(), "2".into()));
        assert_eq!(mode(&fs::canonicalize(path.join("x/b")).unwrap()), 0o400);
        let missing = json!([{"key": "c", "path": "c"}]);
        let bed_without = Bed::new();
        for (bed, expected) in [
            (&bed, "configmap references non-existent config key: c"),
            (&bed_without, "configmap \"m\" not found"),
        ] {
            let making = with(missing.clone(), false);
            let error = super::of_volume(
                bed.making(&making),
                making.spec.as_ref().unwrap().volumes.as_ref().unwrap()[0]
                    .config_map
                    .as_ref()
                    .unwrap(),
            );
            let fail = error.unwrap_err().fail("X");
            assert_eq!((fail.kind, &*fail.message), (FailKind::Retry, expected));
            bed.make(&with(missing.clone(), true)).unwrap();
        }
    });
}
