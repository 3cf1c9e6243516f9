#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use super::{expand, go_quote, in_units, pair_lines, subscript};

#[test]
fn pairs_are_sorted_and_quoted() {
    let pairs = [("note", "a \"b\"\n"), ("app", "web")];
    let pairs: BTreeMap<String, String> = pairs
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    assert_eq!(pair_lines(&pairs), "app=\"web\"\nnote=\"a \\\"b\\\"\\n\"");
    assert_eq!(pair_lines(&BTreeMap::new()), "");
}

/// Right sides are what Go 1.26's strconv.Quote prints.
#[test]
fn quotes_are_gos() {
    let table = [
        ("", r#""""#),
        ("a\"\\\n\u{7}\u{1}\u{7f}ü'`", r#""a\"\\\n\a\x01\x7fü'`""#),
        (
            "\u{85}\u{a0}\u{ad}\u{3000}\u{200b}\u{feff}",
            r#""\u0085\u00a0\u00ad\u3000\u200b\ufeff""#,
        ),
        ("e\u{301}\u{301}日本🦀", "\"e\u{301}\u{301}日本🦀\""),
        (
            "\u{e000}\u{10ffff}\u{e0001}",
            r#""\ue000\U0010ffff\U000e0001""#,
        ),
        ("\0\t\r\u{8}\u{b}\u{c}", r#""\x00\t\r\b\v\f""#),
    ];
    for (text, quoted) in table {
        assert_eq!(go_quote(text), quoted);
    }
}

#[test]
fn a_key_stands_in_brackets() {
    assert_eq!(
        subscript("metadata.labels['a/b']"),
        Some(("metadata.labels", "a/b"))
    );
    assert_eq!(
        subscript("metadata.labels['a['b']"),
        Some(("metadata.labels", "a['b"))
    );
    for path in [
        "metadata.labels",
        "metadata.labels['a",
        "['a']",
        "metadata.labels[a]",
    ] {
        assert_eq!(subscript(path), None, "{path}");
    }
}

#[test]
fn amounts_are_counted_in_units_and_rounded_up() {
    let table = [
        ("1500m", "1", true, 2),
        ("1500m", "1m", true, 1500),
        ("1500m", "0", true, 2),
        ("100Mi", "1Mi", false, 100),
        ("100Mi", "1M", false, 105),
        ("0", "1Gi", false, 0),
        ("1", "1u", false, 1),
        ("16E", "1", false, i64::MAX),
    ];
    for (amount, divisor, cpu, expected) in table {
        let count = in_units(amount.parse().unwrap(), divisor.parse().unwrap(), cpu);
        assert_eq!(count, expected, "{amount} / {divisor}");
    }
}

#[test]
fn references_are_replaced() {
    let lookup = |name: &str| match name {
        "A" => Some("1"),
        "EMPTY" => Some(""),
        "B" => Some("$(A)"),
        _ => None,
    };
    for (text, result) in [
        ("", ""),
        ("plain", "plain"),
        ("$(A)", "1"),
        ("x$(A)y$(A)z", "x1y1z"),
        ("$(EMPTY)", ""),
        ("$(B)", "$(A)"),
        ("$(MISSING)", "$(MISSING)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$$$$", "$$"),
        ("$A ${A} $", "$A ${A} $"),
        ("$(A", "$(A"),
        ("$(A $(A)", "$(A $(A)"),
        ("$()", "$()"),
        ("ü$(A)ü", "ü1ü"),
        ("$ü", "$ü"),
    ] {
        assert_eq!(expand(text, lookup), result, "{text}");
    }
}
