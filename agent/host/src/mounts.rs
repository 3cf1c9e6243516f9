//! The mount table that this thread sees (`/proc/thread-self/mountinfo`).

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Where it is.
    pub(crate) point: PathBuf,
    /// Type of its file system.
    pub(crate) kind: String,
    /// Options of its file system, with commas between.
    pub(crate) options: String,
    /// Nothing can be written through it.
    pub(crate) read_only: bool,
}

/// All mounts, in the order they were made.
pub(crate) fn all() -> io::Result<Vec<Mount>> {
    Ok(parse(&fs::read("/proc/thread-self/mountinfo")?))
}

/// Mounts at `folder` and below it in the order to unmount them: the deepest first, and of those on top
/// of each other the latest. `folder` must be free of links, as the kernel shows it.
pub(crate) fn below(folder: &Path) -> io::Result<Vec<Mount>> {
    let mut mounts = all()?;
    mounts.retain(|mount| mount.point.starts_with(folder));
    mounts.reverse();
    mounts.sort_by_key(|mount| std::cmp::Reverse(mount.point.components().count()));
    Ok(mounts)
}

/// Reads lines such as `36 35 98:0 /root /point rw - ext4 /dev/sda rw,errors=continue`. A line that
/// has another form is left out.
pub(crate) fn parse(table: &[u8]) -> Vec<Mount> {
    let line = |line: &[u8]| {
        let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        let point = words.get(4)?;
        let dash = words.iter().position(|word| *word == b"-")?;
        let text = |at: usize| {
            words
                .get(at)
                .map(|word| String::from_utf8_lossy(word).into_owned())
        };
        let (of_mount, options) = (text(5)?, text(dash + 3)?);
        let read_only = of_mount
            .split(',')
            .chain(options.split(','))
            .any(|option| option == "ro");
        Some(Mount {
            point: PathBuf::from(OsString::from_vec(unescape(point))),
            kind: text(dash + 1)?,
            options,
            read_only,
        })
    };
    table
        .split(|byte| *byte == b'\n')
        .filter_map(line)
        .collect()
}

/// Blanks, tabs, line ends and backslashes are written as three octal digits.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, tail)) = rest.split_first() {
        let digits = tail
            .get(..3)
            .filter(|_| *first == b'\\')
            .and_then(|digits| {
                let text = std::str::from_utf8(digits).ok()?;
                u8::from_str_radix(text, 8).ok()
            });
        match digits {
            Some(byte) => {
                plain.push(byte);
                rest = tail.get(3..).unwrap_or_default();
            }
            None => {
                plain.push(*first);
                rest = tail;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests;
