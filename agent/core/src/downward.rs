//! Texts of the downward API: what a container is told of its own pod, in its environment, its
//! command line and in files alike.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::quantity::Quantity;

/// Labels or annotations: one `key="value"` a line, sorted by key, the value quoted as Go does.
pub fn pair_lines(pairs: &BTreeMap<String, String>) -> String {
    let line = |(key, value): (&String, &String)| format!("{key}={}", go_quote(value));
    let lines: Vec<String> = pairs.iter().map(line).collect();
    lines.join("\n")
}

/// `metadata.labels['key']` as map and key.
pub fn subscript(path: &str) -> Option<(&str, &str)> {
    path.strip_suffix("']")?
        .split_once("['")
        .filter(|(map, _)| !map.is_empty())
}

/// An amount in units of the divisor, rounded up; a divisor of zero is 1. CPU is looked at in
/// thousandths, every other resource in whole units.
pub fn in_units(amount: Quantity, divisor: Quantity, cpu: bool) -> i64 {
    let divisor = if divisor.is_zero() {
        Quantity::whole(1)
    } else {
        divisor
    };
    let figure = |each: Quantity| {
        if cpu {
            each.milli_value()
        } else {
            each.value()
        }
    };
    let (amount, divisor) = (i128::from(figure(amount)), i128::from(figure(divisor)));
    let up = i128::from(amount % divisor != 0 && (amount > 0) == (divisor > 0));
    i64::try_from(amount / divisor + up).unwrap_or(i64::MAX)
}

/// Replaces every `$(NAME)` that `lookup` knows. `$$` gives one `$`; what is not known, and what is no
/// reference, stays as it is (Kubernetes, "define a dependent environment variable").
pub fn expand<'a>(text: &str, mut lookup: impl FnMut(&str) -> Option<&'a str>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        rest = if let Some(more) = after.strip_prefix('$') {
            out.push('$');
            more
        } else if let Some((name, more)) = reference(after) {
            match lookup(name) {
                Some(value) => out.push_str(value),
                None => out.extend(["$(", name, ")"]),
            }
            more
        } else {
            out.push('$');
            after
        };
    }
    out.push_str(rest);
    out
}

/// `(NAME)rest` as name and rest.
fn reference(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('(')?.split_once(')')
}

/// A text in quotes as Go's `strconv.Quote` writes it.
fn go_quote(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        // Writing into a String cannot fail.
        let _ = match character {
            '"' => out.write_str("\\\""),
            '\\' => out.write_str("\\\\"),
            '\n' => out.write_str("\\n"),
            '\r' => out.write_str("\\r"),
            '\t' => out.write_str("\\t"),
            '\u{7}' => out.write_str("\\a"),
            '\u{8}' => out.write_str("\\b"),
            '\u{b}' => out.write_str("\\v"),
            '\u{c}' => out.write_str("\\f"),
            other if is_printable(other) => out.write_char(other),
            other => match u32::from(other) {
                code @ (..=0x1f | 0x7f) => write!(out, "\\x{code:02x}"),
                code @ ..=0xffff => write!(out, "\\u{code:04x}"),
                code => write!(out, "\\U{code:08x}"),
            },
        };
    }
    out.push('"');
    out
}

/// Letters, marks, numbers, punctuation, symbols and the blank, which is what Go leaves as it is. Rust
/// escapes the others in its debug form, and marks only at the beginning, so the character is put
/// behind another one.
fn is_printable(character: char) -> bool {
    let mut pair = String::from("a");
    pair.push(character);
    matches!(character, '\'') || pair.escape_debug().eq(pair.chars())
}

#[cfg(test)]
mod tests;
