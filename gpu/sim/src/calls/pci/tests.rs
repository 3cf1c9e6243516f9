//! PCI addresses in all their spellings.

use super::*;

#[test]
fn all_spellings_of_an_address_are_one() {
    let expected = Some(Address {
        domain: 0,
        bus: 0x1b,
        device: 0,
    });
    for text in [
        "0000:1b:00.0",
        "00000000:1B:00.0",
        "1b:00.0",
        "0:1B:0",
        "1b:00",
    ] {
        assert_eq!(parse(text), expected, "{text}");
    }
    assert_eq!(
        parse("0018:01:00.0"),
        Some(Address {
            domain: 0x18,
            bus: 1,
            device: 0
        })
    );
}

#[test]
fn what_is_no_address_is_none() {
    for text in [
        "",
        ":",
        "1b",
        "xx:00.0",
        "0:0:0:0",
        "GPU-1",
        "100000000:00:00.0",
    ] {
        assert_eq!(parse(text), None, "{text}");
    }
}

#[test]
fn the_domain_has_eight_digits_and_four_in_the_legacy_form() {
    let pci = info("0018:01:00.0", 0x2941_10de, 0).expect("an address");
    let text = |chars: &[std::ffi::c_char]| -> String {
        let bytes = chars
            .iter()
            .map(|letter| u8::from_ne_bytes(letter.to_ne_bytes()));
        String::from_utf8(bytes.take_while(|byte| *byte != 0).collect()).expect("ASCII")
    };
    assert_eq!(text(&pci.busId), "00000018:01:00.0");
    assert_eq!(text(&pci.busIdLegacy), "0018:01:00.0");
    assert!(info("nonsense", 0, 0).is_err());
}
