#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use agent_core::FailKind;
use k8s_openapi::api::core::v1::HostPathVolumeSource;

use super::super::testing::mode;
use super::check;
use crate::testing::folder;

fn outcome(path: &Path, named: &str) -> Result<(), String> {
    let type_ = Some(named.to_owned());
    let source = HostPathVolumeSource {
        path: path.to_str().unwrap().to_owned(),
        type_,
    };
    match check(&source) {
        Ok(found) => {
            assert_eq!(found, path);
            Ok(())
        }
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn a_path_is_what_its_type_says() {
    let (_guard, root) = folder();
    let [dir, file, socket, link] = ["dir", "file", "socket", "link"].map(|name| root.join(name));
    fs::create_dir(&dir).unwrap();
    fs::write(&file, "x").unwrap();
    let _listener = UnixListener::bind(&socket).unwrap();
    symlink(&dir, &link).unwrap();
    let null = Path::new("/dev/null");
    let places = [&dir, &file, &socket, &link, null, &root.join("nothing")];
    // Which of the places each type takes.
    let table = [
        ("", [true, true, true, true, true, true]),
        ("Directory", [true, false, false, true, false, false]),
        ("File", [false, true, false, false, false, false]),
        ("Socket", [false, false, true, false, false, false]),
        ("CharDevice", [false, false, false, false, true, false]),
        ("BlockDevice", [false, false, false, false, false, false]),
    ];
    for (named, expected) in table {
        for (place, expected) in places.iter().zip(expected) {
            let outcome = outcome(place, named);
            assert_eq!(
                outcome.is_ok(),
                expected,
                "{named} at {}: {outcome:?}",
                place.display()
            );
        }
    }
    assert!(!root.join("nothing").exists());
    assert_eq!(
        outcome(&file, "Directory").unwrap_err(),
        format!(
            "hostPath type check failed: {} is not a directory, it's a File",
            file.display()
        )
    );
    let missing = outcome(&root.join("nothing"), "Socket").unwrap_err();
    assert!(
        missing.contains("nothing is not a socket file, unable to determine its type"),
        "{missing}"
    );
}

#[test]
fn what_may_be_made_is_made() {
    let (_guard, root) = folder();
    let deep = root.join("a/b");
    outcome(&deep, "DirectoryOrCreate").unwrap();
    assert!(deep.is_dir());
    assert_eq!(mode(&deep) & !0o755, 0);
    let file = root.join("file");
    outcome(&file, "FileOrCreate").unwrap();
    fs::write(&file, "kept").unwrap();
    outcome(&file, "FileOrCreate").unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
    assert!(
        outcome(&file, "DirectoryOrCreate")
            .unwrap_err()
            .contains("it's a File")
    );
    assert!(
        outcome(&deep, "FileOrCreate")
            .unwrap_err()
            .contains("it's a Directory")
    );
    // The folders above a file are not made.
    assert!(outcome(&root.join("no/file"), "FileOrCreate").is_err());
    assert!(!root.join("no").exists());
}

#[test]
fn only_a_wrong_type_is_for_good() {
    let (_guard, root) = folder();
    let kind = |named: &str| {
        let source = HostPathVolumeSource {
            path: root.join("x").to_str().unwrap().into(),
            type_: Some(named.into()),
        };
        check(&source).unwrap_err().fail("FailedMount").kind
    };
    assert_eq!(
        (kind("File"), kind("Folder")),
        (FailKind::Retry, FailKind::Permanent)
    );
}
