#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::fs;

use super::{missing_host_paths, validate};
use crate::fixtures::{driver, gpu, machine};
use crate::generate::generate;
use crate::store::store;

#[test]
fn a_fresh_document_has_no_problems_and_a_vanished_file_is_one() {
    let machine = machine();
    let document = generate(&driver(), &[gpu(0), gpu(1)], &machine.site)
        .unwrap()
        .document;
    let folder = machine.path("cdi");
    store(&folder, &document).unwrap();
    let report = &validate(&folder).unwrap()[0];
    assert_eq!(report.problems, Vec::<String>::new());
    assert_eq!(
        (report.kind.as_str(), report.devices.len()),
        (document.kind.as_str(), 4)
    );
    assert!(missing_host_paths(&document).is_empty());

    let program = machine
        .path("driver/usr/bin/nvidia-smi")
        .canonicalize()
        .unwrap();
    fs::remove_file(&program).unwrap();
    // Another device under the name of the GPU.
    fs::remove_file(machine.path("dev-root/dev/nvidia1")).unwrap();
    machine.link("/dev/zero", "dev-root/dev/nvidia1");
    let missing = missing_host_paths(&document);
    assert_eq!(
        missing,
        [machine.site.dev_root.join("dev/nvidia1"), program]
    );
    assert_eq!(validate(&folder).unwrap()[0].problems.len(), 2);
}

#[test]
fn every_kind_of_damage_is_one_clear_problem() {
    let folder = tempfile::tempdir().unwrap();
    let valid = r#"{"cdiVersion": "0.5.0", "kind": "example.com/thing", "devices": [{"name": "one", "containerEdits": {"env": ["A=b"]}}]}"#;
    for (name, content, problem) in [
        ("valid.json", valid.to_owned(), None),
        (
            "cut.json",
            valid[..40].to_owned(),
            Some("is no CDI document"),
        ),
        ("empty.json", String::new(), Some("is no CDI document")),
        (
            "kind.json",
            valid.replace("example.com/thing", "thing"),
            Some("not vendor/class"),
        ),
        (
            "version.json",
            valid.replace("0.5.0", "9.9"),
            Some("\"9.9\" is not known"),
        ),
        (
            "low.json",
            valid.replace("0.5.0", "0.3.0").replace("\"one\"", "\"1\""),
            Some("needs 0.5.0"),
        ),
        (
            "name.json",
            valid.replace("\"one\"", "\"o/ne\""),
            Some("cannot be the name"),
        ),
        (
            "yaml.yaml",
            "cdiVersion: 0.5.0\nkind: a.b/c\ndevices: []\n".to_owned(),
            None,
        ),
        (
            "broken.yaml",
            "cdiVersion: [".to_owned(),
            Some("is no CDI document"),
        ),
        ("ignored.txt", "not read by runtimes".to_owned(), None),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        let reports = validate(folder.path()).unwrap();
        match (reports.first(), problem) {
            (Some(report), None) => assert_eq!(report.problems, Vec::<String>::new(), "{name}"),
            (Some(report), Some(problem)) => {
                assert!(
                    report.problems[0].contains(problem),
                    "{name}: {:?}",
                    report.problems
                );
                assert_eq!(report.problems.len(), 1, "{name}: {:?}", report.problems);
            }
            (None, _) => assert_eq!(name, "ignored.txt"),
        }
        fs::remove_file(path).unwrap();
    }
    assert!(validate(&folder.path().join("none")).is_err());
}

#[test]
fn a_device_in_two_files_is_told_in_both() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: \"0\"\n  containerEdits: {}\n";
    for name in ["a.yaml", "b.yaml"] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let reports = validate(folder.path()).unwrap();
    assert!(reports[0].problems[0].contains("nvidia.com/gpu=0 is also in"));
    assert!(reports[0].problems[0].contains("b.yaml") && reports[1].problems[0].contains("a.yaml"));
    let twice = text.to_owned() + "- name: \"0\"\n  containerEdits: {}\n";
    fs::write(folder.path().join("a.yaml"), twice).unwrap();
    let reports = validate(folder.path()).unwrap();
    assert!(
        reports[0]
            .problems
            .iter()
            .any(|problem| problem == "device 0 is listed twice")
    );
}
