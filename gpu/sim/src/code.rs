//! NVML return codes.

use std::ffi::CStr;

/// An `nvmlReturn_t` other than success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) u32);

/// What the body of an exported function answers.
pub(crate) type Answer = Result<(), Code>;

pub(crate) const UNINITIALIZED: Code = Code(1);
pub(crate) const INVALID_ARGUMENT: Code = Code(2);
pub(crate) const NOT_SUPPORTED: Code = Code(3);
pub(crate) const NO_PERMISSION: Code = Code(4);
pub(crate) const NOT_FOUND: Code = Code(6);
pub(crate) const INSUFFICIENT_SIZE: Code = Code(7);
pub(crate) const DRIVER_NOT_LOADED: Code = Code(9);
pub(crate) const TIMEOUT: Code = Code(10);
pub(crate) const GPU_IS_LOST: Code = Code(15);
pub(crate) const RESET_REQUIRED: Code = Code(16);
pub(crate) const IN_USE: Code = Code(19);
pub(crate) const INSUFFICIENT_RESOURCES: Code = Code(23);
pub(crate) const ARGUMENT_VERSION_MISMATCH: Code = Code(25);
pub(crate) const UNKNOWN: Code = Code(999);

/// Texts of `nvmlErrorString`.
const TEXTS: &[(u32, &CStr)] = &[
    (0, c"Success"),
    (1, c"Uninitialized"),
    (2, c"Invalid Argument"),
    (3, c"Not Supported"),
    (4, c"Insufficient Permissions"),
    (5, c"Already Initialized"),
    (6, c"Not Found"),
    (7, c"Insufficient Size"),
    (8, c"Insufficient External Power"),
    (9, c"Driver Not Loaded"),
    (10, c"Timeout"),
    (11, c"Interrupt Request Issue"),
    (12, c"NVML Shared Library Not Found"),
    (13, c"Function Not Found"),
    (14, c"Corrupted infoROM"),
    (15, c"GPU is lost"),
    (16, c"GPU requires reset"),
    (17, c"GPU access blocked by the operating system"),
    (18, c"Driver/library version mismatch"),
    (19, c"In use by another client"),
    (20, c"Insufficient Memory"),
    (21, c"No data"),
    (
        22,
        c"The requested vgpu operation is not available on target device",
    ),
    (23, c"Insufficient Resources"),
    (24, c"Frequency Not Supported"),
    (25, c"Argument version mismatch"),
    (26, c"Deprecated"),
    (27, c"Not Ready"),
    (28, c"GPU Not Found"),
    (29, c"Invalid State"),
    (30, c"Reset Type Not Supported"),
];

/// The text of a return code.
pub(crate) fn text(code: u32) -> &'static CStr {
    let found = TEXTS.iter().find(|(known, _)| *known == code);
    found.map_or(c"Unknown Error", |(_, text)| text)
}
