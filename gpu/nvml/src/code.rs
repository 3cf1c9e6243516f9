//! NVML return codes and how far each one reaches.

use std::fmt;

/// An NVML return code other than success (`nvmlReturn_t` of `nvml.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code(pub u32);

/// What a return code says something about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The feature is not there. Never a sign of ill health.
    Absent,
    /// This GPU.
    Gpu,
    /// The library or the driver, so all GPUs.
    Library,
    /// This one request.
    Request,
}

impl Code {
    /// 2
    pub const INVALID_ARGUMENT: Self = Self(2);
    /// 6
    pub const NOT_FOUND: Self = Self(6);
    /// 7
    pub const INSUFFICIENT_SIZE: Self = Self(7);
    /// 9
    pub const DRIVER_NOT_LOADED: Self = Self(9);
    /// 10
    pub const TIMEOUT: Self = Self(10);
    /// 13
    pub const FUNCTION_NOT_FOUND: Self = Self(13);
    /// 18
    pub const VERSION_MISMATCH: Self = Self(18);
    /// 25
    pub const ARGUMENT_VERSION_MISMATCH: Self = Self(25);
    /// 28
    pub const GPU_NOT_FOUND: Self = Self(28);
    /// 999
    pub const UNKNOWN: Self = Self(999);

    /// How far it reaches.
    pub fn reach(self) -> Reach {
        match self.0 {
            // Not supported, function not found, argument version mismatch.
            3 | 13 | 25 => Reach::Absent,
            // Lost, reset required, unknown.
            15 | 16 | 999 => Reach::Gpu,
            // Uninitialised, driver not loaded, library not found, version mismatch.
            1 | 9 | 12 | 18 => Reach::Library,
            _ => Reach::Request,
        }
    }

    /// The code in words. They are ours: `nvmlErrorString` would be one more call into a library that
    /// has just failed.
    fn words(self) -> &'static str {
        WORDS
            .iter()
            .find(|(code, _)| *code == self.0)
            .map_or("unknown return code", |(_, text)| text)
    }
}

/// Codes of `nvml.h` (13.0).
const WORDS: &[(u32, &str)] = &[
    (1, "the library is not initialised"),
    (2, "invalid argument"),
    (3, "not supported"),
    (4, "no permission"),
    (5, "already initialised"),
    (6, "not found"),
    (7, "a buffer is too small"),
    (8, "external power is missing"),
    (9, "the driver is not loaded"),
    (10, "timed out"),
    (11, "the kernel has a problem with the GPU's interrupt"),
    (12, "the library was not found"),
    (13, "this driver lacks the function"),
    (14, "the InfoROM is damaged"),
    (15, "the GPU is lost"),
    (16, "the GPU needs a reset"),
    (17, "the operating system blocks access to the GPU"),
    (18, "library and kernel driver have different versions"),
    (19, "in use"),
    (20, "out of memory"),
    (21, "no data"),
    (22, "not possible with ECC on"),
    (23, "out of resources"),
    (24, "the frequency is not supported"),
    (25, "this driver has another version of the structure"),
    (26, "deprecated"),
    (27, "not ready"),
    (28, "no such GPU"),
    (29, "invalid state"),
    (30, "this kind of reset is not supported"),
    (999, "unknown error in the driver"),
];

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (NVML {})", self.words(), self.0)
    }
}

#[cfg(test)]
mod tests;
