//! The command line is consistent and takes the documented forms.

use clap::CommandFactory;

use super::*;

#[test]
fn definitions_are_consistent() {
    Arguments::command().debug_assert();
}

#[test]
fn documented_forms_are_accepted() {
    let forms: &[&[&str]] = &[
        &[
            "init",
            "--profile",
            "h200x8",
            "--seed",
            "7",
            "--dev-root",
            "/d",
            "--driver-root",
            "/r",
        ],
        &["set", "0", "temperature.gpu", "-5"],
        &["set", "all", "name", "\\xff"],
        &["xid", "0", "94", "--gi", "1", "--ci", "0"],
        &["event", "0", "recovery-action", "--data", "1"],
        &["hang", "*", "--gpu", "5", "--for", "10s"],
        &["hang", "nvmlInit_v2", "--node"],
        &["delay", "nvmlDeviceGetTemperature", "--gpu", "5", "200ms"],
        &[
            "fail",
            "nvmlDeviceGetName",
            "--gpu",
            "1",
            "--code",
            "999",
            "--times",
            "3",
        ],
        &["process", "add", "0", "--pid", "1", "--memory", "2GiB"],
        &["driver", "--init-code", "9"],
        &["show", "-o", "json", "--state", "/s"],
    ];
    for form in forms {
        let words = ["gpusim"].iter().chain(form.iter());
        assert!(Arguments::try_parse_from(words).is_ok(), "{form:?}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let forms: &[&[&str]] = &[
        &["hang", "*"],
        &["hang", "*", "--gpu", "1", "--node"],
        &["fail", "*", "--node", "--code", "0"],
        &["xid", "0", "79", "--ci", "1"],
        &["delay", "*", "--gpu", "1", "soon"],
        &["init"],
    ];
    for form in forms {
        let words = ["gpusim"].iter().chain(form.iter());
        assert!(Arguments::try_parse_from(words).is_err(), "{form:?}");
    }
}
