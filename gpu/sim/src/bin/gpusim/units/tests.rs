//! Times and sizes.

use super::*;

#[test]
fn times_have_a_unit() {
    assert_eq!(duration("200ms"), Ok(Duration::from_millis(200)));
    assert_eq!(duration("10s"), Ok(Duration::from_secs(10)));
    assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
    for text in [
        "",
        "10",
        "s",
        "1.5s",
        "-1s",
        "10 days",
        "99999999999999999999s",
    ] {
        assert!(duration(text).is_err(), "{text}");
    }
}

#[test]
fn sizes_may_have_a_unit() {
    assert_eq!(size("17"), Ok(17));
    assert_eq!(size("2GiB"), Ok(2 << 30));
    assert_eq!(size("2 MiB"), Ok(2 << 20));
    for text in ["", "GiB", "2GB", "20000000TiB"] {
        assert!(size(text).is_err(), "{text}");
    }
}
