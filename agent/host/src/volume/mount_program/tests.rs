#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;

use super::run;

#[test]
fn a_program_that_is_not_there_is_told() {
    let told = run(Path::new("/nowhere/mount"), &["-t", "x"]).unwrap_err();
    assert!(told.starts_with("mount failed: No such file"), "{told}");
    assert!(told.contains("Mounting arguments: -t x\n"), "{told}");
}

/// As `mount.nfs` leaves daemons behind.
#[test]
fn children_that_stay_do_not_hold_it_up() {
    let started = std::time::Instant::now();
    let told = run(Path::new("sh"), &["-c", "sleep 300 & echo $!; exit 3"]).unwrap_err();
    assert!(started.elapsed().as_secs() < 100, "{told}");
    let output = told.rsplit("Output: ").next().unwrap().trim();
    let child = rustix::process::Pid::from_raw(output.parse().unwrap()).unwrap();
    rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn words_without_end_are_cut() {
    let told = run(Path::new("sh"), &["-c", "yes | head -c 100000; exit 1"]).unwrap_err();
    assert!(told.len() < 3000);
}
