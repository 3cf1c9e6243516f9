#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn a_missing_library_names_the_places() {
    let file = Some(PathBuf::from("/nowhere/libnvidia-ml.so.1"));
    let error = Library::open(&Places {
        file,
        folders: Vec::new(),
    })
    .unwrap_err();
    assert!(
        error.to_string().contains("/nowhere/libnvidia-ml.so.1"),
        "{error}"
    );
    assert!(matches!(
        error.into(),
        gpu_model::DriverState::NoLibrary { .. }
    ));
}

#[test]
fn the_first_folder_that_has_it_wins_and_the_loader_comes_last() {
    let scratch = std::env::temp_dir().join(format!("nvml-places-{}", std::process::id()));
    let (empty, full) = (scratch.join("empty"), scratch.join("full"));
    std::fs::create_dir_all(&empty).unwrap();
    std::fs::create_dir_all(&full).unwrap();
    std::fs::write(full.join(FILE_NAME), "not a library").unwrap();
    let places = |folders: Vec<PathBuf>| Places {
        file: None,
        folders,
    };
    assert_eq!(
        places(vec![empty.clone(), full.clone()]).choose(),
        full.join(FILE_NAME)
    );
    assert_eq!(places(vec![empty]).choose(), PathBuf::from(FILE_NAME));

    let error = Library::open(&places(vec![full])).unwrap_err();
    assert!(
        matches!(error, OpenError::Load { .. }),
        "half a library is none: {error}"
    );
    std::fs::remove_dir_all(scratch).unwrap();
}

#[test]
fn return_codes_of_the_start_become_states() {
    let state = |code| {
        let fault = Fault {
            call: "nvmlInitWithFlags",
            code: Code(code),
        };
        gpu_model::DriverState::from(OpenError::Start {
            path: PathBuf::from("x"),
            fault,
        })
    };
    assert_eq!(state(9), gpu_model::DriverState::NotLoaded);
    assert_eq!(state(18), gpu_model::DriverState::VersionMismatch);
    assert!(matches!(
        state(999),
        gpu_model::DriverState::Broken { code: 999, .. }
    ));
}

#[test]
fn the_cuda_version_is_taken_apart() {
    assert_eq!(cuda_version(13_000), (13, 0));
    assert_eq!(cuda_version(12_080), (12, 8));
    assert_eq!(cuda_version(-5), (0, 0));
}
