#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::symlink;

use agent_loops::ports::PreparedPod;
use k8s_openapi::api::core::v1::Container;
use serde_json::json;

use super::{find, values};

#[test]
fn what_a_file_may_hold() {
    let text = "# comment\n\n  A='1'\nB='two words' # why\nC='a\nb#\n'\nD= 'x'\nE=''\nA='late'\n";
    for (key, expected) in [
        ("A", Some("1")),
        ("B", Some("two words")),
        ("C", Some("a\nb#\n")),
        ("D", None),
        ("E", Some("")),
        ("F", None),
    ] {
        assert_eq!(find(text, key), Ok(expected.map(str::to_owned)), "{key}");
    }
}

#[test]
fn what_it_may_not() {
    for (text, says) in [
        ("A", "line 1: there is no ="),
        ("='1'", "there is no name"),
        ("\nA ='1'", "line 2: there is a blank before the ="),
        ("A=1", "single quotes"),
        ("A=\"1\"", "single quotes"),
        ("A='1' 2", "after the closing quote"),
        ("A='1", "line 1: the quote is not closed"),
    ] {
        let error = find(text, "K").unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
    // The first value is found before anything wrong after it.
    assert_eq!(find("K='1'\nwrong", "K"), Ok(Some("1".to_owned())));
}

#[test]
fn a_file_of_a_volume_and_nothing_outside() {
    let folder = tempfile::tempdir().unwrap();
    let volume = folder.path().join("volume");
    fs::create_dir_all(volume.join("sub")).unwrap();
    fs::write(volume.join("sub/env"), "K='v'\n").unwrap();
    fs::write(folder.path().join("secret"), "K='host'\n").unwrap();
    symlink("../secret", volume.join("out")).unwrap();
    symlink("sub/env", volume.join("in")).unwrap();
    let prepared = PreparedPod {
        volumes: [("v".to_owned(), volume)].into(),
        ..Default::default()
    };
    for (volume, path, expected) in [
        ("v", "sub/env", Ok(Some("v"))),
        ("v", "in", Ok(Some("v"))),
        ("v", "out", Err("couldn't parse env file")),
        ("v", "../secret", Err("couldn't parse env file")),
        ("v", "sub", Err("it is no file")),
        ("v", "none", Err("couldn't parse env file")),
        (
            "w",
            "in",
            Err("cannot find the volume \"w\" referenced by FileKeyRef"),
        ),
    ] {
        let file = json!({"fileKeyRef": {"volumeName": volume, "path": path, "key": "K"}});
        let container =
            json!({"name": "main", "env": [{"name": "X", "valueFrom": file}, {"name": "Y"}]});
        let container: Container = serde_json::from_value(container).unwrap();
        let mut values = values(&container, &prepared);
        assert_eq!(values.len(), 1);
        match (values.remove("X").unwrap(), expected) {
            (Ok(value), Ok(expected)) => assert_eq!(value.as_deref(), expected, "{path}"),
            (Err(fail), Err(says)) => assert!(fail.message.contains(says), "{path}: {fail}"),
            (got, _) => panic!("{path}: {got:?}"),
        }
    }
}
