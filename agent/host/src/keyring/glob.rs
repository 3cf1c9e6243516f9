//! Patterns for one part of a host name: `*`, `?`, `[a-z]`, `[^a-z]`, `\` before a plain letter.

/// Whether `text` matches all of `pattern`. A pattern that cannot be read matches nothing.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    step(&pattern, &text)
}

fn step(pattern: &[char], text: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['*', rest @ ..] => {
            (0..=text.len()).any(|taken| step(rest, text.get(taken..).unwrap_or(&[])))
        }
        ['?', rest @ ..] => text.split_first().is_some_and(|(_, text)| step(rest, text)),
        ['[', rest @ ..] => match (text.split_first(), class(rest)) {
            (Some((letter, text)), Some((class, rest))) => class.holds(*letter) && step(rest, text),
            _ => false,
        },
        ['\\', letter, rest @ ..] | [letter, rest @ ..] => text
            .split_first()
            .is_some_and(|(first, text)| first == letter && step(rest, text)),
    }
}

struct Class {
    negated: bool,
    ranges: Vec<(char, char)>,
}

impl Class {
    fn holds(&self, letter: char) -> bool {
        let inside = self
            .ranges
            .iter()
            .any(|(low, high)| (*low..=*high).contains(&letter));
        inside != self.negated
    }
}

/// The class after its bracket, and what follows it.
fn class(pattern: &[char]) -> Option<(Class, &[char])> {
    let (negated, mut rest) = match pattern {
        ['^', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let mut ranges = Vec::new();
    loop {
        rest = match rest {
            [']', after @ ..] if !ranges.is_empty() => {
                return Some((Class { negated, ranges }, after));
            }
            [low, '-', high, after @ ..] if *high != ']' => {
                ranges.push((*low, *high));
                after
            }
            [letter, after @ ..] => {
                ranges.push((*letter, *letter));
                after
            }
            [] => return None,
        };
    }
}
