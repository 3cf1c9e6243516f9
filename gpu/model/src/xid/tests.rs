#![allow(clippy::unwrap_used)]

use super::{CATALOGUE, Xid, XidClass, XidScope};

#[test]
fn rows_are_in_order_and_do_not_overlap() {
    for row in CATALOGUE {
        assert!(row.first <= row.last, "{row:?}");
        assert!(!row.meaning.is_empty() && !row.advice.is_empty(), "{row:?}");
    }
    for pair in CATALOGUE.windows(2) {
        let [a, b] = pair else { unreachable!() };
        assert!(a.last < b.first, "{a:?} {b:?}");
    }
}

#[test]
fn classes_of_the_codes_that_people_meet() {
    use XidClass::{Application, Degraded, Hardware, Ignore, Reboot, Reset};
    for (class, codes) in [
        (Application, &[13, 31, 43, 45, 68, 94][..]),
        (Ignore, &[63, 137, 141, 154]),
        (Degraded, &[74, 92, 93, 145, 999, 12345, 0]),
        (
            Reset,
            &[46, 48, 62, 64, 95, 109, 119, 120, 136, 140, 143, 155],
        ),
        (Reboot, &[79, 151, 167]),
        (Hardware, &[54, 157]),
    ] {
        for code in codes {
            assert_eq!(Xid::of(*code).class, class, "{code}");
        }
    }
}

#[test]
fn unknown_codes_say_so_and_keep_their_number() {
    let row = Xid::of(999);
    assert_eq!((row.first, row.last, row.scope), (999, 999, XidScope::Gpu));
    assert!(row.meaning.contains("unknown") && !Xid::is_known(999) && Xid::is_known(79));
}
