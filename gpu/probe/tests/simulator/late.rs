//! Drivers that are not there yet, or not any more.

use std::fs;

use gpu_model::DriverState;

use crate::bench::{BUILT, Machine, Watched};

#[tokio::test]
async fn each_change_is_told_once_and_the_gpus_appear() {
    let machine = Machine::new("h200x8");
    machine.gpusim(&["driver", "--init-code", "9"]);
    let folder = machine.path("lib");
    fs::create_dir(&folder).unwrap();
    let library = folder.join("libnvidia-ml.so.1");
    let settings = gpu_probe::ProbeSettings {
        library: Some(library.clone()),
        ..machine.settings()
    };
    let mut watched = Watched::start(settings);
    let missing = watched.driver(|state| *state != DriverState::Unknown).await;
    let DriverState::NoLibrary { detail } = &missing else {
        unreachable!("{missing:?}")
    };
    assert!(detail.contains(library.to_str().unwrap()), "{detail}");

    fs::copy(&BUILT.library, folder.join("copying")).unwrap();
    fs::rename(folder.join("copying"), &library).unwrap();
    watched
        .driver(|state| *state == DriverState::NotLoaded)
        .await;
    machine.gpusim(&["driver", "--init-code", "18"]);
    watched
        .driver(|state| *state == DriverState::VersionMismatch)
        .await;
    machine.gpusim(&["driver", "--init-code", "0"]);
    watched.driver(|state| *state == DriverState::Ready).await;
    assert_eq!(watched.machine().await.gpus.len(), 8);
    let ready = DriverState::Ready;
    let expected = [
        &missing,
        &DriverState::NotLoaded,
        &DriverState::VersionMismatch,
        &ready,
    ];
    assert_eq!(watched.states(), expected);
}

#[tokio::test]
async fn while_there_is_no_driver_there_is_no_child() {
    let machine = Machine::new("h200x8");
    machine.gpusim(&["driver", "--init-code", "9"]);
    let mut watched = Watched::start(machine.settings());
    watched
        .driver(|state| *state == DriverState::NotLoaded)
        .await;
    crate::life::until_no_child(&machine).await;
}

#[tokio::test]
async fn a_driver_that_is_unloaded_takes_its_gpus_with_it() {
    let machine = Machine::new("h200x8");
    let (mut watched, _) = Watched::ready(&machine).await;
    machine.gpusim(&["driver", "--init-code", "9"]);
    machine.gpusim(&["fail", "*", "--node", "--code", "9"]);
    watched.probe.rescan().await;
    watched
        .driver(|state| *state == DriverState::NotLoaded)
        .await;
    machine.gpusim(&["clear"]);
    machine.gpusim(&["driver", "--init-code", "0"]);
    watched.driver(|state| *state == DriverState::Ready).await;
    assert_eq!(watched.machine().await.gpus.len(), 8);
}
