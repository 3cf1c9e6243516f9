use super::*;

fn field(kind: u32, code: u32, value: nvmlValue_t) -> Result<u64, Code> {
    number(&nvmlFieldValue_t {
        fieldId: 230,
        scopeId: 0,
        timestamp: 0,
        latencyUsec: 0,
        valueType: kind,
        nvmlReturn: code,
        value,
    })
}

#[test]
fn each_type_is_read_as_what_it_is() {
    assert_eq!(field(1, 0, nvmlValue_t { uiVal: 4 }), Ok(4));
    assert_eq!(field(3, 0, nvmlValue_t { ullVal: u64::MAX }), Ok(u64::MAX));
    assert_eq!(field(5, 0, nvmlValue_t { siVal: 3 }), Ok(3));
    assert_eq!(field(6, 0, nvmlValue_t { usVal: 2 }), Ok(2));
}

#[test]
fn garbage_and_failures_are_no_values() {
    assert_eq!(field(5, 0, nvmlValue_t { siVal: -1 }), Err(Code::UNKNOWN));
    assert_eq!(field(0, 0, nvmlValue_t { dVal: 1.5 }), Err(Code::UNKNOWN));
    assert_eq!(field(99, 0, nvmlValue_t { uiVal: 4 }), Err(Code::UNKNOWN));
    assert_eq!(field(1, 3, nvmlValue_t { uiVal: 4 }), Err(Code(3)));
}
