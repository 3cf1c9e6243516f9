//! The XID catalogue: what each error number of the driver means and how far it reaches.
//!
//! Numbers, meanings and recommended actions are those of NVIDIA's public XID catalogue. It lists no action
//! for 162 to 172; their classes are this project's own. The catalogue is a floor: the driver's recovery
//! action (NVML field 230) can raise what it says, see [`crate::HealthBook`].

/// One row: all codes from `first` to `last` mean the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Xid {
    /// First code.
    pub first: u32,
    /// Last code, included.
    pub last: u32,
    /// What happened, in words.
    pub meaning: &'static str,
    /// How bad it is.
    pub class: XidClass,
    /// How far it reaches.
    pub scope: XidScope,
    /// What to do, in words.
    pub advice: &'static str,
}

/// How bad an XID is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XidClass {
    /// An application did something wrong or was hit; the GPU is fine.
    Application,
    /// Worth a line in the log.
    Ignore,
    /// The GPU works, with less margin than it should have.
    Degraded,
    /// The GPU is not usable before a reset.
    Reset,
    /// The GPU is not usable before the node is rebooted.
    Reboot,
    /// The GPU or its board needs service.
    Hardware,
}

/// How far an XID can reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XidScope {
    /// The MIG instance that the event names; the whole GPU if it names none.
    Instance,
    /// Always the whole GPU.
    Gpu,
}

use XidClass::{Application, Degraded, Hardware, Ignore, Reboot, Reset};
use XidScope::{Gpu, Instance};

const RESTART: &str = "restart the application; if it comes back, check the application first";
const LOG: &str = "nothing; report it to NVIDIA if it comes back";
const RESET: &str = "drain and reset the GPU; if it comes back, report it to NVIDIA";
const REPLACE: &str = "drain and reset the GPU; if it comes back, have the GPU replaced";
const REBOOT: &str = "drain and reboot the node; if it comes back, have the GPU checked";
const WATCH: &str = "watch it; the driver's recovery action says whether a reset is needed";
const SERVICE: &str = "have the GPU and its power and seating checked";

/// What is said of a code that is not in the table, 999 included: there the driver itself could not name it.
/// It never takes a GPU away by itself: field 230 is asked.
const UNKNOWN: Xid = row(0, 0, "unknown XID", Degraded, Gpu, WATCH);

/// All rows, ordered by code.
#[rustfmt::skip] // one row a line
pub const CATALOGUE: &[Xid] = &[
    row(8, 8, "the GPU stopped processing", Application, Instance, RESTART),
    row(11, 11, "corrupt push buffer stream", Application, Instance, RESTART),
    row(13, 13, "graphics engine exception, often an out-of-bounds access", Application, Instance, RESTART),
    row(25, 25, "illegal push buffer entry", Application, Instance, RESTART),
    row(31, 31, "memory page fault: an illegal address was accessed", Application, Instance, RESTART),
    row(32, 32, "corrupt push buffer", Application, Instance, RESTART),
    row(37, 38, "driver firmware error", Ignore, Instance, LOG),
    row(39, 41, "copy engine error", Application, Instance, RESTART),
    row(43, 43, "a channel was reset after an application's fault", Application, Instance, RESTART),
    row(44, 44, "context switch fault", Ignore, Instance, LOG),
    row(45, 45, "channels were torn down after another error or a killed application", Application, Instance, RESTART),
    row(46, 46, "the GPU did not answer in time", Reset, Gpu, RESET),
    row(48, 48, "uncorrectable memory error (double-bit ECC)", Reset, Instance, REPLACE),
    row(54, 54, "auxiliary power is missing", Hardware, Gpu, SERVICE),
    row(60, 60, "video processor exception", Application, Instance, RESTART),
    row(62, 62, "the power management unit halted", Reset, Gpu, RESET),
    row(63, 63, "a memory row will be remapped at the next reset", Ignore, Gpu, "reset the GPU when it is idle"),
    row(64, 64, "a memory row could not be remapped", Reset, Gpu, REPLACE),
    row(66, 67, "illegal access by the driver", Ignore, Instance, LOG),
    row(68, 68, "video decoder exception", Application, Instance, RESTART),
    row(69, 69, "graphics engine class error", Application, Instance, RESTART),
    row(70, 72, "copy engine error", Application, Instance, RESTART),
    row(74, 74, "NVLink error", Degraded, Gpu, WATCH),
    row(75, 77, "copy engine error", Application, Instance, RESTART),
    row(78, 78, "a virtual GPU could not start", Ignore, Gpu, "match the versions of host and guest driver"),
    row(79, 79, "the GPU has fallen off the PCI bus", Reboot, Gpu, REBOOT),
    row(80, 80, "corrupt data was sent to the GPU", Application, Instance, RESTART),
    row(82, 82, "JPEG decoder exception", Application, Instance, RESTART),
    row(83, 84, "video decoder exception", Application, Instance, RESTART),
    row(85, 85, "copy engine error", Application, Instance, RESTART),
    row(86, 86, "optical flow exception", Application, Instance, RESTART),
    row(88, 89, "video decoder exception", Application, Instance, RESTART),
    row(92, 92, "many corrected memory errors", Degraded, Gpu, WATCH),
    row(93, 93, "the board's information storage is worn", Degraded, Gpu, WATCH),
    row(94, 94, "uncorrectable memory error, contained to one application", Application, Instance, RESTART),
    row(95, 95, "uncorrectable memory error that may have reached every application", Reset, Gpu, REPLACE),
    row(96, 105, "video or JPEG decoder exception", Application, Instance, RESTART),
    row(109, 109, "context switch did not end in time", Reset, Instance, RESET),
    row(110, 110, "security fault", Reset, Gpu, RESET),
    row(119, 119, "the GPU system processor did not answer in time", Reset, Gpu, REBOOT),
    row(120, 120, "the GPU system processor failed", Reset, Gpu, REBOOT),
    row(121, 121, "chip-to-chip link error, corrected", Ignore, Gpu, LOG),
    row(126, 135, "copy engine error", Application, Instance, RESTART),
    row(136, 136, "NVLink training failed", Reset, Gpu, RESET),
    row(137, 137, "NVLink access without the right to it", Ignore, Instance, LOG),
    row(139, 139, "optical flow exception", Application, Instance, RESTART),
    row(140, 140, "uncorrected memory error that was not recovered", Reset, Gpu, REPLACE),
    row(141, 141, "fast path fault", Ignore, Gpu, LOG),
    row(142, 142, "video encoder exception", Ignore, Instance, LOG),
    row(143, 143, "the GPU could not be initialised", Reset, Gpu, REBOOT),
    row(144, 150, "NVLink unit error", Degraded, Gpu, WATCH),
    row(151, 151, "key rotation failed (confidential computing)", Reboot, Gpu, REBOOT),
    row(152, 153, "deep learning accelerator fault", Ignore, Gpu, LOG),
    row(154, 154, "the driver's recovery action changed", Ignore, Gpu, "do what the recovery action asks for"),
    row(155, 155, "an NVLink was taken down by software", Reset, Gpu, RESET),
    row(156, 156, "a faulty resource will be retired at the next reset", Reset, Gpu, RESET),
    row(157, 157, "a faulty resource could not be retired", Hardware, Gpu, SERVICE),
    row(158, 158, "fatal timeout inside the GPU", Reset, Gpu, RESET),
    row(159, 159, "coherent bus error", Degraded, Gpu, WATCH),
    row(160, 161, "a memory channel was retired or could not be", Degraded, Gpu, WATCH),
    row(162, 165, "power smoothing changed or wears out", Degraded, Gpu, WATCH),
    row(166, 166, "confidential traffic was refused", Degraded, Gpu, WATCH),
    row(167, 167, "fatal PCIe timeout", Reboot, Gpu, REBOOT),
    row(168, 168, "less memory than the board has", Degraded, Gpu, WATCH),
    row(169, 169, "a micro-controller of the GPU halted", Reset, Gpu, RESET),
    row(170, 170, "confidential interrupt was refused", Degraded, Gpu, WATCH),
    row(171, 171, "detail to XID 48: the error is in DRAM", Ignore, Gpu, "follow XID 48"),
    row(172, 172, "detail to XID 48: the error is in SRAM", Ignore, Gpu, "follow XID 48"),
];

const fn row(
    first: u32,
    last: u32,
    meaning: &'static str,
    class: XidClass,
    scope: XidScope,
    advice: &'static str,
) -> Xid {
    Xid {
        first,
        last,
        meaning,
        class,
        scope,
        advice,
    }
}

impl Xid {
    /// The row of a code; for a code that is not in the catalogue one that says so.
    pub fn of(code: u32) -> Self {
        let known = CATALOGUE
            .iter()
            .find(|row| (row.first..=row.last).contains(&code));
        known.copied().unwrap_or(Self {
            first: code,
            last: code,
            ..UNKNOWN
        })
    }

    /// Whether the catalogue has this code.
    pub fn is_known(code: u32) -> bool {
        CATALOGUE
            .iter()
            .any(|row| (row.first..=row.last).contains(&code))
    }
}

impl XidClass {
    /// One word for tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Application => "application",
            Ignore => "ignore",
            Degraded => "degraded",
            Reset => "reset",
            Reboot => "reboot",
            Hardware => "hardware",
        }
    }
}

#[cfg(test)]
mod tests;
