use std::time::Duration;

use super::parse;

#[test]
fn durations() {
    for (text, milliseconds) in [
        ("1h30m", Some(5_400_000)),
        ("0.5s", Some(500)),
        ("10ms", Some(10)),
        ("1m0s", Some(60_000)),
        ("0", Some(0)),
        ("0s", Some(0)),
        ("", None),
        ("5", None),
        ("-1s", None),
        ("1d", None),
        ("s", None),
    ] {
        assert_eq!(
            parse(text),
            milliseconds.map(Duration::from_millis),
            "{text}"
        );
    }
}
