#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn a_hanging_call_can_be_seen_from_outside() {
    let mark = CallMark::default();
    mark_calls(mark.clone());
    let inside = call("nvmlDeviceGetName", || Ok(mark.current().unwrap().0)).unwrap();
    assert_eq!(inside, "nvmlDeviceGetName");
    assert!(mark.current().is_none());
}

#[test]
fn a_missing_symbol_is_a_missing_function() {
    let lacking = || Err::<(), _>(NvmlError::FailedToLoadSymbol("undefined symbol".to_owned()));
    let fault = call("nvmlDeviceGetThing", lacking).unwrap_err();
    assert_eq!(fault.code, Code::FUNCTION_NOT_FOUND);
    assert_eq!(
        fault.to_string(),
        "nvmlDeviceGetThing: this driver lacks the function (NVML 13)"
    );
}

#[test]
fn only_a_lost_gpu_or_driver_makes_a_missing_feature_a_failure() {
    let outcome = |code| {
        optional(Err::<(), _>(Fault {
            call: "x",
            code: Code(code),
        }))
    };
    for harmless in [2, 3, 4, 6, 13, 25, 27, 999] {
        assert_eq!(outcome(harmless), Ok(None), "{harmless}");
    }
    for fatal in [1, 9, 12, 15, 16, 18] {
        assert!(outcome(fatal).is_err(), "{fatal}");
    }
}

#[test]
fn a_value_that_makes_no_sense_is_not_taken_for_a_return_code() {
    let code = |error| call("x", || Err::<(), _>(error)).unwrap_err().code;
    assert_eq!(code(NvmlError::UnexpectedVariant(15)), Code::UNKNOWN);
    assert_eq!(code(NvmlError::UnexpectedVariant(28)), Code(28));
    assert_eq!(code(NvmlError::GpuLost), Code(15));
}
