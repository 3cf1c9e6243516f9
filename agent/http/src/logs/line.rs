//! One line of a log, and what is shown of it.

use std::borrow::Cow;

use jiff::Timestamp;

use super::options::LogOptions;

/// A line as the runtime wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// When.
    time: Timestamp,
    /// The same as it stands there.
    stamp: &'a str,
    /// What the container wrote, with its end of line. A part of a longer line has none.
    content: &'a [u8],
}

/// Shows lines one after the other.
#[derive(Clone, Debug)]
pub(super) struct Show {
    timestamps: bool,
    since: Option<Timestamp>,
    /// Bytes that may still be shown.
    left: u64,
    /// The next content is the beginning of a line of the container's.
    fresh: bool,
}

impl Show {
    pub(super) fn new(options: &LogOptions) -> Self {
        Self {
            timestamps: options.timestamps,
            since: options.since,
            left: options.limit.unwrap_or(u64::MAX),
            fresh: true,
        }
    }

    /// Appends what is shown of one raw line. False: that was all that may be shown. What is no log
    /// line is left out.
    pub(super) fn line(&mut self, raw: &[u8], out: &mut Vec<u8>) -> bool {
        let Some(line) = Line::parse(raw) else {
            tracing::debug!("a line that is not in the format of runtime logs is left out");
            return true;
        };
        let fresh = self.fresh;
        self.fresh = line.content.last().is_none_or(|last| *last == b'\n');
        if self.since.is_some_and(|since| line.time < since) {
            return true;
        }
        if self.timestamps && fresh {
            self.put(nine_digits(line.stamp).as_bytes(), out);
            self.put(b" ", out);
        }
        self.put(line.content, out);
        self.left > 0
    }

    fn put(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let room = usize::try_from(self.left).unwrap_or(usize::MAX);
        let fits = bytes.len().min(room);
        out.extend(bytes.iter().take(fits));
        self.left = self
            .left
            .saturating_sub(u64::try_from(fits).unwrap_or(u64::MAX));
    }
}

impl<'a> Line<'a> {
    /// Reads a raw line with its end. Tags after the first are for later versions of the format.
    pub(super) fn parse(raw: &'a [u8]) -> Option<Self> {
        let (stamp, rest) = cut(raw)?;
        let (stream, rest) = cut(rest)?;
        let (tags, content) = cut(rest)?;
        if !matches!(stream, b"stdout" | b"stderr") {
            return None;
        }
        let stamp = std::str::from_utf8(stamp).ok()?;
        let partial = tags.split(|byte| *byte == b':').next() == Some(b"P");
        let content = match content.strip_suffix(b"\n") {
            Some(part) if partial => part,
            _ => content,
        };
        Some(Self {
            time: time(stamp)?,
            stamp,
            content,
        })
    }
}

fn cut(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|byte| *byte == b' ')?;
    let (head, tail) = bytes.split_at(at);
    Some((head, tail.get(1..)?))
}

/// RFC 3339 and nothing after it: the parser alone would take more than runtimes write.
fn time(stamp: &str) -> Option<Timestamp> {
    let shape = |byte: u8| byte.is_ascii_digit() || b"-:.T+Z".contains(&byte);
    let plain = stamp.as_bytes().get(10) == Some(&b'T') && stamp.bytes().all(shape);
    plain.then(|| stamp.parse().ok()).flatten()
}

/// Kubernetes 1.37 shows times with nine digits of a second, in the zone they were written in.
fn nine_digits(stamp: &str) -> Cow<'_, str> {
    let (head, rest) = stamp.split_at_checked(19).unwrap_or((stamp, ""));
    let zone = rest.find(['Z', '+', '-']).unwrap_or(rest.len());
    let (fraction, zone) = rest.split_at(zone);
    let digits = fraction.strip_prefix('.').unwrap_or(fraction);
    let zone = if zone == "+00:00" { "Z" } else { zone };
    if digits.len() == 9 && zone.len() + digits.len() + 1 == rest.len() {
        return Cow::Borrowed(stamp);
    }
    Cow::Owned(format!("{head}.{digits:0<9.9}{zone}"))
}

#[cfg(test)]
mod tests;
