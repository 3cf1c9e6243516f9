//! Kubernetes quantities: `500m`, `1.5Gi`, `2e3`.
//!
//! Format and rounding follow `resource.Quantity` of the Kubernetes API: nothing below one nano is
//! kept (it rounds away from zero, so that who asks for a little gets a little), nothing above
//! 2^63-1 is kept (it is capped).

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// An amount of a resource. Exact in nanos; equality and order ignore the way it was written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quantity {
    /// At most `CAP` in magnitude.
    nanos: i128,
    notation: Notation,
}

/// How the quantity was written, which is how it is shown again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Notation {
    /// `n u m k M G T P E` or nothing.
    #[default]
    Decimal,
    /// `Ki Mi Gi Ti Pi Ei`.
    Binary,
    /// `e3`, `E-6`.
    Exponent,
}

/// Why a text is no quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// Nothing, or no digit at its beginning.
    #[error("quantity {0:?} does not begin with a number, write for instance 500m, 2 or 1.5Gi")]
    Number(String),
    /// Text after the number that is no suffix.
    #[error(
        "quantity {0:?} has an unknown suffix, allowed are n u m k M G T P E, Ki Mi Gi Ti Pi Ei \
         and an exponent such as e3"
    )]
    Suffix(String),
}

const NANOS: i128 = 1_000_000_000;
const CAP: i128 = i64::MAX as i128 * NANOS;
/// Digits kept behind the point: enough for exact nanos of every decimal notation.
const FRACTION_DIGITS: usize = 18;

const DECIMAL: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];
const BINARY: [(&str, u32); 6] = [
    ("Ki", 10),
    ("Mi", 20),
    ("Gi", 30),
    ("Ti", 40),
    ("Pi", 50),
    ("Ei", 60),
];

impl Quantity {
    /// A whole number.
    pub fn whole(units: i64) -> Self {
        Self {
            nanos: i128::from(units) * NANOS,
            notation: Notation::Decimal,
        }
    }

    /// Thousandths.
    pub fn milli(thousandths: i64) -> Self {
        Self {
            nanos: i128::from(thousandths) * (NANOS / 1000),
            notation: Notation::Decimal,
        }
    }

    /// Whole units, rounded away from zero: `1.1` is 2.
    pub fn value(self) -> i64 {
        self.rounded(NANOS)
    }

    /// Thousandths, rounded away from zero: `100u` is 1. More than an `i64` holds is capped.
    pub fn milli_value(self) -> i64 {
        self.rounded(NANOS / 1000)
    }

    /// Whether it is zero, in whatever notation.
    pub fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// Whether it is below zero.
    pub fn is_negative(self) -> bool {
        self.nanos < 0
    }

    /// The sum, capped; shown in the notation of the first one that is not zero.
    pub fn plus(self, other: Self) -> Self {
        let notation = if self.is_zero() {
            other.notation
        } else {
            self.notation
        };
        Self {
            nanos: (self.nanos + other.nanos).clamp(-CAP, CAP),
            notation,
        }
    }

    /// What is left without `other`, below zero if that is more; shown in the notation of the first.
    pub fn minus(self, other: Self) -> Self {
        Self {
            nanos: (self.nanos - other.nanos).clamp(-CAP, CAP),
            notation: self.notation,
        }
    }

    fn rounded(self, unit: i128) -> i64 {
        let whole = self.nanos / unit;
        let away = if self.nanos % unit == 0 {
            0
        } else {
            self.nanos.signum()
        };
        i64::try_from(whole + away).unwrap_or(if whole < 0 { i64::MIN } else { i64::MAX })
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return Err(QuantityError::Number(text.to_owned()));
        }
        let (notation, exponent10, exponent2) =
            suffix_of(suffix).ok_or_else(|| QuantityError::Suffix(text.to_owned()))?;
        let magnitude = magnitude(whole, fraction, exponent10, exponent2);
        let sub_unit = magnitude > 0 && magnitude < NANOS;
        Ok(Self {
            nanos: if negative { -magnitude } else { magnitude },
            notation: match notation {
                Notation::Binary if sub_unit => Notation::Decimal,
                other => other,
            },
        })
    }
}

/// Notation, decimal exponent and binary exponent of a suffix.
fn suffix_of(suffix: &str) -> Option<(Notation, i64, u32)> {
    if let Some((_, exponent)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return Some((Notation::Decimal, i64::from(*exponent), 0));
    }
    if let Some((_, exponent)) = BINARY.iter().find(|(name, _)| *name == suffix) {
        return Some((Notation::Binary, 0, *exponent));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    // Only a size that is capped or rounded anyway fails to fit an i32.
    exponent
        .parse::<i32>()
        .ok()
        .map(|exponent| (Notation::Exponent, i64::from(exponent), 0))
}

/// `whole.fraction * 10^exponent10 * 2^exponent2` in nanos, rounded up and capped.
fn magnitude(whole: &str, fraction: &str, exponent10: i64, exponent2: u32) -> i128 {
    let digits: Vec<u8> = whole
        .bytes()
        .chain(fraction.bytes())
        .map(|digit| digit - b'0')
        .collect();
    let leading = digits.iter().take_while(|digit| **digit == 0).count();
    let digits = digits.get(leading..).unwrap_or_default();
    if digits.is_empty() {
        return 0;
    }
    // Place of the decimal point inside `digits`; it may lie outside of them.
    let place = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let point = place(whole.len()) - place(leading) + exponent10;
    if point > 19 {
        return CAP;
    }
    if point < -place(FRACTION_DIGITS) {
        // Less than any part that is kept, and not nothing: rounded up.
        return 1;
    }
    let mut units: i128 = 0;
    let mut parts: i128 = 0;
    for position in point.min(0)..point.max(0) + place(FRACTION_DIGITS) {
        let digit = usize::try_from(position).ok().and_then(|at| digits.get(at));
        let digit = digit.copied().map_or(0, i128::from);
        if position < point {
            units = units * 10 + digit;
        } else if position < point + place(FRACTION_DIGITS) {
            parts = parts * 10 + digit;
        }
    }
    let kept = usize::try_from(point + place(FRACTION_DIGITS)).unwrap_or(0);
    let lost = digits
        .get(kept..)
        .unwrap_or_default()
        .iter()
        .any(|digit| *digit != 0);
    let factor = 1_i128 << exponent2;
    // `parts` counts 10^-18, so 10^9 of them are one nano.
    let nanos = (parts * factor + i128::from(lost) + NANOS - 1) / NANOS;
    units
        .checked_mul(factor)
        .and_then(|units| units.checked_mul(NANOS))
        .and_then(|whole| whole.checked_add(nanos))
        .map_or(CAP, |all| all.min(CAP))
}

impl fmt::Display for Quantity {
    /// Canonical form: no fraction, the largest suffix that allows that.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanos == 0 {
            return f.write_str("0");
        }
        let units = self.nanos / NANOS;
        let whole = self.nanos % NANOS == 0;
        if self.notation == Notation::Binary && whole && units.abs() >= 1024 {
            let fits = |exponent: u32| units % (1_i128 << exponent) == 0;
            let best = BINARY.iter().rev().find(|(_, exponent)| fits(*exponent));
            return match best {
                Some((suffix, exponent)) => write!(f, "{}{suffix}", units >> exponent),
                None => write!(f, "{units}"),
            };
        }
        let mut mantissa = self.nanos;
        let mut exponent = -9;
        while mantissa % 1000 == 0 && exponent < 18 {
            mantissa /= 1000;
            exponent += 3;
        }
        match DECIMAL.iter().find(|(_, power)| *power == exponent) {
            Some((suffix, _)) if self.notation != Notation::Exponent => {
                write!(f, "{mantissa}{suffix}")
            }
            _ if exponent == 0 => write!(f, "{mantissa}"),
            _ => write!(f, "{mantissa}e{exponent}"),
        }
    }
}

#[cfg(test)]
mod tests;
