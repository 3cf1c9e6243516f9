//! Durations as Go writes them: `1h30m`, `500ms`, `-1.5s`, `0`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A length of time in nanoseconds. The Go type behind it is signed, so a negative one can be told
/// in an error instead of being misread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct GoDuration(i64);

/// A text that is no duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no duration; write for instance 10s, 1m30s or 500ms (units ns us ms s m h)")]
pub struct DurationError(String);

const UNITS: [(&str, i64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

impl GoDuration {
    /// Whole seconds.
    pub const fn seconds(seconds: i64) -> Self {
        Self(seconds * 1_000_000_000)
    }

    /// Whole milliseconds.
    pub const fn milliseconds(milliseconds: i64) -> Self {
        Self(milliseconds * 1_000_000)
    }

    /// As a span; a negative one is empty.
    pub fn span(self) -> Duration {
        Duration::from_nanos(u64::try_from(self.0).unwrap_or(0))
    }
}

impl FromStr for GoDuration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        let wrong = || DurationError(text.to_owned());
        let (sign, mut rest) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        if rest == "0" {
            return Ok(Self(0));
        }
        if rest.is_empty() {
            return Err(wrong());
        }
        let mut total: i64 = 0;
        while !rest.is_empty() {
            let end = rest
                .find(|c: char| !c.is_ascii_digit() && c != '.')
                .ok_or_else(wrong)?;
            let (number, tail) = rest.split_at(end);
            let end = tail
                .find(|c: char| c.is_ascii_digit() || c == '.')
                .unwrap_or(tail.len());
            let (unit, tail) = tail.split_at(end);
            let (_, unit) = UNITS
                .iter()
                .find(|(name, _)| *name == unit)
                .ok_or_else(wrong)?;
            let part = scaled(number, *unit).ok_or_else(wrong)?;
            total = total.checked_add(part).ok_or_else(wrong)?;
            rest = tail;
        }
        Ok(Self(sign * total))
    }
}

/// `number * unit`, with what is below a nanosecond cut off; `None` if it is no number or too large.
fn scaled(number: &str, unit: i64) -> Option<i64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let whole: i64 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    let mut nanos = whole.checked_mul(unit)?;
    let mut place = unit;
    for digit in fraction.bytes() {
        place /= 10;
        nanos = nanos.checked_add(i64::from(digit - b'0') * place)?;
    }
    Some(nanos)
}

impl fmt::Display for GoDuration {
    /// The form Go prints, for instance `1m30s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.unsigned_abs();
        let sign = if self.0 < 0 { "-" } else { "" };
        let (unit, name): (u64, _) = match nanos {
            0 => return f.write_str("0s"),
            1..1_000 => (1, "ns"),
            1_000..1_000_000 => (1_000, "\u{b5}s"),
            1_000_000..1_000_000_000 => (1_000_000, "ms"),
            _ => (1_000_000_000, "s"),
        };
        let (hours, minutes) = (nanos / 3_600_000_000_000, nanos / 60_000_000_000 % 60);
        f.write_str(sign)?;
        if hours > 0 {
            write!(f, "{hours}h")?;
        }
        if hours > 0 || minutes > 0 {
            write!(f, "{minutes}m")?;
        }
        let rest = nanos % 60_000_000_000;
        let width = unit.ilog10() as usize;
        let fraction = format!("{:0width$}", rest % unit);
        let fraction = fraction.trim_end_matches('0');
        if fraction.is_empty() {
            write!(f, "{}{name}", rest / unit)
        } else {
            write!(f, "{}.{fraction}{name}", rest / unit)
        }
    }
}

#[cfg(test)]
mod tests;
