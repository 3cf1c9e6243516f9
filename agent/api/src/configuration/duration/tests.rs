#![allow(clippy::unwrap_used)]

use std::time::Duration;

use super::GoDuration;

#[test]
fn durations_are_read_and_shown_as_go_does() {
    let table: &[(&str, i64, &str)] = &[
        ("0", 0, "0s"),
        ("0s", 0, "0s"),
        ("20s", 20_000_000_000, "20s"),
        ("90s", 90_000_000_000, "1m30s"),
        ("1m", 60_000_000_000, "1m0s"),
        ("2h", 7_200_000_000_000, "2h0m0s"),
        ("1h30m", 5_400_000_000_000, "1h30m0s"),
        ("100ms", 100_000_000, "100ms"),
        ("1.5s", 1_500_000_000, "1.5s"),
        (".5m", 30_000_000_000, "30s"),
        ("3us", 3_000, "3\u{b5}s"),
        ("7ns", 7, "7ns"),
        ("-1.5ms", -1_500_000, "-1.5ms"),
        ("+1s", 1_000_000_000, "1s"),
    ];
    for (text, nanos, shown) in table {
        let duration: GoDuration = text.parse().unwrap();
        assert_eq!(duration, GoDuration(*nanos), "{text}");
        assert_eq!(duration.to_string(), *shown, "{text}");
    }
}

#[test]
fn what_go_refuses_is_refused() {
    for text in [
        "",
        "-",
        "1",
        "1d",
        "s",
        "1..s",
        ".s",
        "1s 2s",
        "1 s",
        "one",
        "1S",
        "9223372037s1h",
        "99999999999h",
    ] {
        assert!(text.parse::<GoDuration>().is_err(), "{text}");
    }
}

#[test]
fn a_negative_duration_is_an_empty_span() {
    assert_eq!("-5s".parse::<GoDuration>().unwrap().span(), Duration::ZERO);
    assert_eq!(
        "1.25s".parse::<GoDuration>().unwrap().span(),
        Duration::from_millis(1250)
    );
}
