#![allow(clippy::unwrap_used, clippy::expect_used)]
//! Tables from the Kubernetes API's own documentation of quantities, and properties.

use proptest::prelude::*;

use super::*;

fn parse(text: &str) -> Quantity {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn values_round_away_from_zero() {
    let table = [
        // text, value, milli value
        ("0", 0, 0),
        ("0.0", 0, 0),
        ("00012", 12, 12_000),
        ("1", 1, 1000),
        ("+1", 1, 1000),
        ("-1.5", -2, -1500),
        ("1.", 1, 1000),
        (".5", 1, 500),
        ("500m", 1, 500),
        ("1500m", 2, 1500),
        ("100u", 1, 1),
        ("1n", 1, 1),
        ("0.0000000001", 1, 1),
        ("-1n", -1, -1),
        ("2k", 2000, 2_000_000),
        ("3M", 3_000_000, 3_000_000_000),
        ("4G", 4_000_000_000, 4_000_000_000_000),
        ("5T", 5_000_000_000_000, 5_000_000_000_000_000),
        ("6P", 6_000_000_000_000_000, 6_000_000_000_000_000_000),
        ("7E", 7_000_000_000_000_000_000, i64::MAX),
        ("1Ki", 1024, 1_024_000),
        ("1.5Gi", 1_610_612_736, 1_610_612_736_000),
        ("0.1Ki", 103, 102_400),
        ("2Mi", 2 << 20, (2 << 20) * 1000),
        ("1Ti", 1 << 40, (1 << 40) * 1000),
        ("1Pi", 1 << 50, (1 << 50) * 1000),
        ("1Ei", 1 << 60, i64::MAX),
        ("1e3", 1000, 1_000_000),
        ("1E3", 1000, 1_000_000),
        ("1.5e+2", 150, 150_000),
        ("12e-3", 1, 12),
        ("1e-30", 1, 1),
        ("1e-2147483648", 1, 1),
        ("100000000000000000000000000000e-29", 1, 1000),
        ("0e99999", 0, 0),
    ];
    for (text, value, milli) in table {
        assert_eq!(parse(text).value(), value, "{text}");
        assert_eq!(parse(text).milli_value(), milli, "{text}");
    }
}

#[test]
fn too_much_is_capped() {
    for text in [
        "8Ei",
        "9999Ei",
        "10E",
        "9223372036854775808",
        "1e30",
        "1e2000000000",
    ] {
        assert_eq!(parse(text).value(), i64::MAX, "{text}");
        assert_eq!(parse(&format!("-{text}")).value(), -i64::MAX, "-{text}");
    }
}

#[test]
fn canonical_text() {
    let table = [
        ("0", "0"),
        ("0Ki", "0"),
        ("1.5", "1500m"),
        ("0.001", "1m"),
        ("1000k", "1M"),
        ("12345", "12345"),
        ("1024Ki", "1Mi"),
        ("1.5Gi", "1536Mi"),
        ("1025Ki", "1025Ki"),
        ("0.5Ki", "512"),
        ("0.1Ki", "102400m"),
        ("1.5e3", "1500"),
        ("2000e3", "2e6"),
        ("12e-3", "12e-3"),
        ("-2.5", "-2500m"),
        ("-3Mi", "-3Mi"),
        ("8Ei", "9223372036854775807"),
        ("1n", "1n"),
    ];
    for (text, shown) in table {
        assert_eq!(parse(text).to_string(), shown, "{text}");
    }
}

#[test]
fn no_quantity() {
    use QuantityError::{Number, Suffix};
    for text in [
        "", "+", "-", ".", "-.", "Ki", "1.2.3", "--1", "+-1", " 1", "aoeu", "e3", "١",
    ] {
        assert_eq!(
            text.parse::<Quantity>(),
            Err(Number(text.into())),
            "{text:?}"
        );
    }
    for text in [
        "1i", "1ki", "1KI", "1mi", "1K", "1e", "1Ee3", "1e3.5", "1 ", "1 Gi", "1e3Ki",
    ] {
        assert_eq!(
            text.parse::<Quantity>(),
            Err(Suffix(text.into())),
            "{text:?}"
        );
    }
}

#[test]
fn order_ignores_notation() {
    assert_eq!(parse("1Ki"), parse("1024"));
    assert_eq!(parse("1e3"), parse("1k"));
    assert!(parse("999m") < parse("1"));
    assert!(parse("-1") < parse("0"));
    assert!(parse("1Gi") > parse("1G"));
    assert_eq!(parse("0").plus(parse("1Gi")).to_string(), "1Gi");
    assert_eq!(parse("500m").plus(parse("500m")), parse("1"));
    assert_eq!(parse("7E").plus(parse("7E")).value(), i64::MAX);
    assert_eq!(Quantity::whole(-3), parse("-3"));
}

proptest! {
    #[test]
    fn any_text_parses_or_errs(text in ".{0,40}") {
        let _ = text.parse::<Quantity>();
    }

    #[test]
    fn what_is_shown_reads_the_same(
        text in r"[+-]?([0-9]{1,22}(\.[0-9]{0,14})?|\.[0-9]{1,14})(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]{1,2})?"
    ) {
        let quantity = parse(&text);
        let shown = quantity.to_string();
        prop_assert_eq!(parse(&shown), quantity);
    }

    #[test]
    fn whole_numbers_are_exact(units in any::<i64>(), milli in -1_000_000_000_000_i64..1_000_000_000_000) {
        prop_assume!(units != i64::MIN);
        prop_assert_eq!(parse(&units.to_string()).value(), units);
        prop_assert_eq!(parse(&format!("{milli}m")).milli_value(), milli);
        // Away from zero, never further than one.
        let rounded = parse(&format!("{milli}m")).value();
        prop_assert!(rounded.abs() * 1000 >= milli.abs() && rounded.abs() * 1000 - milli.abs() < 1000);
    }
}

#[test]
fn parts_are_made_and_taken_away() {
    let half: Quantity = "500m".parse().unwrap();
    assert_eq!(Quantity::milli(500), half);
    assert_eq!(Quantity::whole(2).minus(half).to_string(), "1500m");
    assert!(half.minus(Quantity::whole(1)).is_negative());
    let most = Quantity::whole(i64::MAX);
    assert_eq!(
        Quantity::whole(i64::MIN + 1).minus(most),
        Quantity::whole(-i64::MAX)
    );
}
