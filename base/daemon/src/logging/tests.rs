#![allow(clippy::unwrap_used)]

use tracing_subscriber::EnvFilter;

use super::QUIET;

#[test]
fn every_word_for_quiet_crates_is_understood() {
    let filter: EnvFilter = format!("info,{QUIET}").parse().unwrap();
    let shown = filter.to_string();
    for part in QUIET.split(',').chain(["info"]) {
        assert!(
            shown.split(',').any(|each| each == part),
            "{part} in {shown}"
        );
    }
}
