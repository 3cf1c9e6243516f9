//! Times and sizes as people write them.

use std::time::Duration;

/// Milliseconds of the units of time.
const TIMES: &[(&str, u64)] = &[("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)];

/// Bytes of the units of size.
const SIZES: &[(&str, u64)] = &[
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("B", 1),
    ("", 1),
];

/// Reads `200ms`, `10s`, `2m` or `1h`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let milliseconds = with_unit(text, TIMES);
    milliseconds
        .map(Duration::from_millis)
        .ok_or_else(|| format!("{text} is no time; write for instance 200ms, 10s or 2m"))
}

/// Reads `1024`, `512MiB` or `40GiB`, in bytes.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    with_unit(text, SIZES)
        .ok_or_else(|| format!("{text} is no size; write for instance 1024, 512MiB or 40GiB"))
}

fn with_unit(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits)?;
    let (_, factor) = units
        .iter()
        .find(|(known, _)| *known == unit.trim_start())?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

#[cfg(test)]
mod tests;
