//! The fields that the simulator answers, by id. All others are not supported.

use std::ops::RangeInclusive;

use crate::state::{Gpu, Link, RemappedRows};

/// `nvmlValueType_t` of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Unsigned, 32 bits.
    Int,
    /// Unsigned, 64 bits.
    Long,
    /// Signed, 32 bits.
    Signed,
}

impl Kind {
    pub(super) fn number(self) -> u32 {
        match self {
            Self::Int => 1,
            Self::Long => 3,
            Self::Signed => 5,
        }
    }
}

/// Consecutive ids that are read alike.
pub(super) struct Row {
    pub(super) ids: RangeInclusive<u32>,
    pub(super) kind: Kind,
    /// From the GPU, the offset of the id in the row and the scope; `None`: not supported.
    pub(super) read: fn(&Gpu, u32, u32) -> Option<u64>,
}

const fn row(ids: RangeInclusive<u32>, kind: Kind, read: fn(&Gpu, u32, u32) -> Option<u64>) -> Row {
    Row { ids, kind, read }
}

/// Speed units, remapping and counters as the names of the header (`NVML_FI_DEV_*`) say.
pub(super) const TABLE: &[Row] = &[
    row(1..=1, Kind::Int, |gpu, _, _| gpu.ecc.current.map(u64::from)),
    row(2..=2, Kind::Int, |gpu, _, _| {
        gpu.ecc.current.map(|_| u64::from(gpu.ecc.pending))
    }),
    row(3..=3, Kind::Long, |gpu, _, _| {
        ecc(gpu, gpu.ecc.volatile.corrected())
    }),
    row(4..=4, Kind::Long, |gpu, _, _| {
        ecc(gpu, gpu.ecc.volatile.uncorrected())
    }),
    row(5..=5, Kind::Long, |gpu, _, _| {
        ecc(gpu, gpu.ecc.aggregate.corrected())
    }),
    row(6..=6, Kind::Long, |gpu, _, _| {
        ecc(gpu, gpu.ecc.aggregate.uncorrected())
    }),
    row(11..=11, Kind::Long, |gpu, _, _| {
        ecc(gpu, gpu.ecc.volatile.dram_corrected)
    }),
    row(12..=12, Kind::Long, |gpu, _, _| {
        ecc(gpu, gpu.ecc.volatile.dram_uncorrected)
    }),
    row(22..=22, Kind::Long, |gpu, _, _| {
        ecc(gpu, gpu.ecc.aggregate.dram_corrected)
    }),
    row(23..=23, Kind::Long, |gpu, _, _| {
        ecc(gpu, gpu.ecc.aggregate.dram_uncorrected)
    }),
    row(29..=29, Kind::Long, |gpu, _, _| {
        retired(gpu, gpu.ecc.retired_single_bit.len())
    }),
    row(30..=30, Kind::Long, |gpu, _, _| {
        retired(gpu, gpu.ecc.retired_double_bit.len())
    }),
    row(31..=31, Kind::Int, |gpu, _, _| {
        retired(gpu, usize::from(gpu.ecc.retirement_pending))
    }),
    // Per-link counters: links 0 to 5, their total, and links 6 to 11 in a later block.
    row(32..=37, Kind::Long, |gpu, at, _| {
        link(gpu, at, |link| link.crc_flit_errors)
    }),
    row(38..=38, Kind::Long, |gpu, _, _| {
        all_links(gpu, |link| link.crc_flit_errors)
    }),
    row(39..=44, Kind::Long, |gpu, at, _| {
        link(gpu, at, |link| link.crc_data_errors)
    }),
    row(45..=45, Kind::Long, |gpu, _, _| {
        all_links(gpu, |link| link.crc_data_errors)
    }),
    row(46..=51, Kind::Long, |gpu, at, _| {
        link(gpu, at, |link| link.replay_errors)
    }),
    row(52..=52, Kind::Long, |gpu, _, _| {
        all_links(gpu, |link| link.replay_errors)
    }),
    row(53..=58, Kind::Long, |gpu, at, _| {
        link(gpu, at, |link| link.recovery_errors)
    }),
    row(59..=59, Kind::Long, |gpu, _, _| {
        all_links(gpu, |link| link.recovery_errors)
    }),
    // Time under each policy that lowers clocks: nothing was throttled.
    row(74..=81, Kind::Long, |_, _, _| Some(0)),
    row(82..=82, Kind::Int, |gpu, _, _| {
        gpu.temperature.memory.map(signed)
    }),
    row(83..=83, Kind::Long, |gpu, _, _| Some(gpu.power.energy)),
    row(84..=89, Kind::Int, |gpu, at, _| {
        link(gpu, at, |link| u64::from(link.speed_mbps))
    }),
    row(90..=90, Kind::Int, |gpu, _, _| {
        link(gpu, 0, |link| u64::from(link.speed_mbps))
    }),
    row(91..=91, Kind::Int, |gpu, _, _| {
        u64::try_from(gpu.nvlinks.len()).ok()
    }),
    row(94..=94, Kind::Int, |gpu, _, _| {
        Some(u64::from(gpu.pci.replays))
    }),
    row(95..=95, Kind::Int, |_, _, _| Some(0)),
    row(96..=101, Kind::Long, |gpu, at, _| {
        link(gpu, at + 6, |link| link.crc_flit_errors)
    }),
    row(102..=107, Kind::Long, |gpu, at, _| {
        link(gpu, at + 6, |link| link.crc_data_errors)
    }),
    row(108..=113, Kind::Long, |gpu, at, _| {
        link(gpu, at + 6, |link| link.replay_errors)
    }),
    row(114..=119, Kind::Long, |gpu, at, _| {
        link(gpu, at + 6, |link| link.recovery_errors)
    }),
    row(132..=137, Kind::Int, |gpu, at, _| {
        link(gpu, at + 6, |link| u64::from(link.speed_mbps))
    }),
    row(142..=142, Kind::Int, |gpu, _, _| {
        rows(gpu, |rows| u64::from(rows.corrected))
    }),
    row(143..=143, Kind::Int, |gpu, _, _| {
        rows(gpu, |rows| u64::from(rows.uncorrected))
    }),
    row(144..=144, Kind::Int, |gpu, _, _| {
        rows(gpu, |rows| u64::from(rows.pending))
    }),
    row(145..=145, Kind::Int, |gpu, _, _| {
        rows(gpu, |rows| u64::from(rows.failure))
    }),
    row(146..=146, Kind::Int, |gpu, _, scope| {
        link(gpu, scope, |link| u64::from(link.remote_link))
    }),
    row(147..=147, Kind::Int, |gpu, _, _| {
        let to_switch =
            |link: &&Link| link.active && link.remote == crate::state::RemoteKind::Switch;
        u64::try_from(gpu.nvlinks.iter().filter(to_switch).count()).ok()
    }),
    row(148..=159, Kind::Long, |gpu, at, _| {
        link(gpu, at, |link| link.ecc_data_errors)
    }),
    row(160..=160, Kind::Long, |gpu, _, _| {
        all_links(gpu, |link| link.ecc_data_errors)
    }),
    row(161..=161, Kind::Long, |gpu, _, scope| {
        link(gpu, scope, |link| link.replay_errors)
    }),
    row(162..=162, Kind::Long, |gpu, _, scope| {
        link(gpu, scope, |link| link.recovery_errors)
    }),
    row(163..=163, Kind::Long, |gpu, _, scope| {
        link(gpu, scope, |link| link.crc_flit_errors)
    }),
    row(164..=164, Kind::Int, |gpu, _, scope| {
        link(gpu, scope, |link| u64::from(link.speed_mbps))
    }),
    row(165..=165, Kind::Int, |gpu, _, scope| {
        link(gpu, scope, |link| u64::from(link.active))
    }),
    row(166..=166, Kind::Int, |gpu, _, scope| {
        link(gpu, scope, |link| u64::from(link.version))
    }),
    // PCIe errors by kind: none.
    row(173..=183, Kind::Int, |_, _, _| Some(0)),
    row(184..=184, Kind::Int, |gpu, _, _| {
        Some(mig(gpu, |mig| mig.resetless))
    }),
    row(185..=186, Kind::Int, |gpu, _, _| {
        Some(u64::from(gpu.power.usage))
    }),
    row(187..=187, Kind::Int, |gpu, _, _| {
        Some(u64::from(gpu.power.min_limit))
    }),
    row(188..=188, Kind::Int, |gpu, _, _| {
        Some(u64::from(gpu.power.max_limit))
    }),
    row(189..=189, Kind::Int, |gpu, _, _| {
        Some(u64::from(gpu.power.default_limit))
    }),
    row(190..=190, Kind::Int, |gpu, _, _| {
        Some(u64::from(gpu.power.limit))
    }),
    row(191..=191, Kind::Long, |gpu, _, _| Some(gpu.power.energy)),
    row(192..=192, Kind::Int, |gpu, _, _| {
        Some(u64::from(gpu.power.limit))
    }),
    // Limits as margins to the slowdown temperature, negative above it (Hopper and later).
    row(193..=193, Kind::Signed, |gpu, _, _| {
        margin(gpu, gpu.temperature.shutdown)
    }),
    row(194..=194, Kind::Signed, |gpu, _, _| {
        margin(gpu, gpu.temperature.slowdown)
    }),
    row(196..=196, Kind::Signed, |gpu, _, _| {
        margin(gpu, gpu.temperature.gpu_max)
    }),
    row(199..=199, Kind::Int, |gpu, _, _| {
        Some(mig(gpu, |mig| mig.query_without_mode))
    }),
    row(230..=230, Kind::Int, |gpu, _, _| {
        gpu.recovery_action.map(u64::from)
    }),
];

fn ecc(gpu: &Gpu, count: u64) -> Option<u64> {
    (gpu.ecc.current == Some(true)).then_some(count)
}

fn retired(gpu: &Gpu, pages: usize) -> Option<u64> {
    let retires = gpu.ecc.remapped_rows.is_none() && gpu.ecc.current.is_some();
    u64::try_from(pages).ok().filter(|_| retires)
}

fn rows(gpu: &Gpu, read: fn(&RemappedRows) -> u64) -> Option<u64> {
    gpu.ecc.remapped_rows.as_ref().map(read)
}

fn link(gpu: &Gpu, number: u32, read: fn(&Link) -> u64) -> Option<u64> {
    gpu.nvlinks.get(usize::try_from(number).ok()?).map(read)
}

fn all_links(gpu: &Gpu, read: fn(&Link) -> u64) -> Option<u64> {
    let sum = gpu.nvlinks.iter().map(read).fold(0, u64::saturating_add);
    (!gpu.nvlinks.is_empty()).then_some(sum)
}

fn mig(gpu: &Gpu, read: fn(&crate::state::Mig) -> bool) -> u64 {
    u64::from(gpu.mig.as_ref().is_some_and(read))
}

/// Architecture 9 is Hopper.
fn margin(gpu: &Gpu, limit: u32) -> Option<u64> {
    let above = i64::from(gpu.temperature.slowdown) - i64::from(limit);
    (gpu.architecture >= 9).then_some(above.cast_unsigned())
}

fn signed(value: i32) -> u64 {
    i64::from(value).cast_unsigned()
}
