//! The library exports every name, and what is not simulated says so.

#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used)]

#[macro_use]
mod client;

use std::collections::BTreeSet;

use client::{Machine, library};
use libloading::Library;

/// Names that clients of newer and older headers than nvml-wrapper-sys look up.
const NEWER_AND_OLDER: &[&str] = &[
    "nvmlDeviceGetGpuFabricInfo_v4",
    "nvmlDeviceGetRemappedRows_v2",
    "nvmlEventSetWait_v3",
    "nvmlGetBlacklistDeviceCount",
    "nvmlInternalGetExportTable",
];

#[test]
fn every_name_is_there_once() {
    let names: Vec<&str> = nvidia_ml::exported().collect();
    let unique: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(unique.len(), names.len());
    assert!(names.len() > 420, "{} names", names.len());
    // SAFETY: loading the library runs no code of its own.
    let library = unsafe { Library::new(library()) }.unwrap();
    for name in names.iter().chain(NEWER_AND_OLDER) {
        // SAFETY: the symbol is looked up only.
        let found = unsafe { library.get::<*const ()>(name.as_bytes()) };
        assert!(found.is_ok(), "{name} is not exported");
    }
}

#[test]
fn what_is_not_simulated_is_not_supported() {
    let machine = Machine::new("h200x8");
    let device = machine.gpu(0);
    let mut number = 0;
    assert_eq!(
        call!(
            machine,
            nvmlDeviceGetAccountingBufferSize(device, &raw mut number)
        ),
        3
    );
    assert_eq!(call!(machine, nvmlDeviceResetApplicationsClocks(device)), 3);
    assert_eq!(call!(machine, nvmlShutdown()), 0);
    assert_eq!(call!(machine, nvmlDeviceResetApplicationsClocks(device)), 1);
}

#[test]
fn codes_have_texts_without_initialisation() {
    let machine = Machine::without_init("t4x1");
    let text = |code| {
        let text = call!(machine, nvmlErrorString(code));
        // SAFETY: the library answers with a static text.
        unsafe { std::ffi::CStr::from_ptr(text) }
            .to_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(text(15), "GPU is lost");
    assert_eq!(text(4711), "Unknown Error");
}
