use proptest::prelude::*;

use super::*;

fn content(raw: &str) -> Option<String> {
    let line = Line::parse(raw.as_bytes())?;
    Some(String::from_utf8_lossy(line.content).into_owned())
}

#[test]
fn lines_of_runtimes() {
    let table = [
        ("2026-01-01T00:00:00.1Z stdout F hello\n", Some("hello\n")),
        ("2026-01-01T00:00:00Z stderr P half\n", Some("half")),
        ("2026-01-01T00:00:00Z stdout P half", Some("half")),
        (
            "2026-01-01T00:00:00+02:00 stdout F:new a b\n",
            Some("a b\n"),
        ),
        ("2026-01-01T00:00:00Z stdout P:new x\n", Some("x")),
        ("2026-01-01T00:00:00Z stdout F \n", Some("\n")),
        ("2026-01-01T00:00:00Z stdout P \n", Some("")),
        ("2026-01-01T00:00:00Z stdout F  two\n", Some(" two\n")),
        // Garbage at each place.
        ("2026-01-01T00:00:00Zx stdout F a\n", None),
        ("2026-01-01T00:00:00Z[UTC] stdout F a\n", None),
        ("2026-01-01T00:00:00Z0 stdout F a\n", None),
        ("2026-01-01 stdout F a\n", None),
        ("2026-13-01T00:00:00Z stdout F a\n", None),
        ("2026-01-01T00:00:00 stdout F a\n", None),
        ("2026-01-01T00:00:00Z stdin F a\n", None),
        ("2026-01-01T00:00:00Z stdout\n", None),
        ("2026-01-01T00:00:00Z stdout F\n", None),
        ("{\"log\":\"a\"}\n", None),
        ("\n", None),
        ("", None),
    ];
    for (raw, expected) in table {
        assert_eq!(content(raw).as_deref(), expected, "{raw:?}");
    }
}

#[test]
fn times_are_shown_with_nine_digits() {
    let table = [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000000000Z"),
        ("2026-01-01T00:00:00.12Z", "2026-01-01T00:00:00.120000000Z"),
        (
            "2026-01-01T00:00:00.123456789+02:00",
            "2026-01-01T00:00:00.123456789+02:00",
        ),
        (
            "2026-01-01T00:00:00.5-07:30",
            "2026-01-01T00:00:00.500000000-07:30",
        ),
        (
            "2026-01-01T00:00:00.123456789+00:00",
            "2026-01-01T00:00:00.123456789Z",
        ),
    ];
    for (stamp, expected) in table {
        assert_eq!(nine_digits(stamp), expected);
    }
}

fn show(options: &LogOptions, lines: &[&str]) -> (String, bool) {
    let (mut show, mut out, mut more) = (Show::new(options), Vec::new(), true);
    for line in lines {
        more = show.line(line.as_bytes(), &mut out);
        if !more {
            break;
        }
    }
    (String::from_utf8(out).unwrap(), more)
}

const LINES: [&str; 5] = [
    "2026-01-01T00:00:01Z stdout F one\n",
    "2026-01-01T00:00:02Z stdout P tw\n",
    "nonsense\n",
    "2026-01-01T00:00:03Z stdout F o\n",
    "2026-01-01T00:00:04Z stderr F three\n",
];

#[test]
fn parts_become_one_line_with_one_time() {
    let plain = LogOptions::default();
    assert_eq!(show(&plain, &LINES), ("one\ntwo\nthree\n".to_owned(), true));
    let stamped = LogOptions {
        timestamps: true,
        ..plain
    };
    let expected = "2026-01-01T00:00:01.000000000Z one\n\
                    2026-01-01T00:00:02.000000000Z two\n\
                    2026-01-01T00:00:04.000000000Z three\n";
    assert_eq!(show(&stamped, &LINES), (expected.to_owned(), true));
}

#[test]
fn since_is_inclusive_and_a_limit_cuts_within_a_line() {
    let since = LogOptions {
        since: Some("2026-01-01T00:00:04Z".parse().unwrap()),
        ..LogOptions::default()
    };
    assert_eq!(show(&since, &LINES).0, "three\n");
    for (limit, expected, more) in [
        (3, "one", false),
        (4, "one\n", false),
        (5, "one\nt", false),
        (99, "one\ntwo\nthree\n", true),
    ] {
        let limited = LogOptions {
            limit: Some(limit),
            ..LogOptions::default()
        };
        assert_eq!(
            show(&limited, &LINES),
            (expected.to_owned(), more),
            "{limit}"
        );
    }
    let stamped = LogOptions {
        timestamps: true,
        limit: Some(6),
        ..LogOptions::default()
    };
    assert_eq!(show(&stamped, &LINES).0, "2026-0");
}

proptest! {
    #[test]
    fn no_line_breaks_it(raw: Vec<u8>, limit in 1u64..64) {
        let options = LogOptions { timestamps: true, limit: Some(limit), ..LogOptions::default() };
        let mut out = Vec::new();
        Show::new(&options).line(&raw, &mut out);
        prop_assert!(out.len() as u64 <= limit);
    }

    #[test]
    fn what_was_written_is_shown(text in "[^\n]{0,40}", partial: bool) {
        let tag = if partial { "P" } else { "F" };
        let raw = format!("2026-01-01T00:00:00.5Z stdout {tag} {text}\n");
        let expected = if partial { text } else { format!("{text}\n") };
        prop_assert_eq!(content(&raw), Some(expected));
    }
}
