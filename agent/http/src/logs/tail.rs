//! Where the last lines of a file begin.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes looked at in one step.
const BLOCK: usize = 16 << 10;

/// Offset from which on there are `lines` ends of line. What follows the last end counts as nothing,
/// as in the stock kubelet: with `lines` 0 only an unfinished line is left.
pub(super) fn tail(file: &File, lines: u64) -> io::Result<u64> {
    let mut block = vec![0; BLOCK];
    let mut right = file.metadata()?.len();
    let mut seen = 0;
    while right > 0 {
        let left = right.saturating_sub(BLOCK as u64);
        let length = usize::try_from(right - left).unwrap_or(BLOCK);
        let Some(part) = block.get_mut(..length) else {
            break;
        };
        file.read_exact_at(part, left)?;
        for (at, byte) in part.iter().enumerate().rev() {
            if *byte == b'\n' {
                if seen == lines {
                    return Ok(left + at as u64 + 1);
                }
                seen += 1;
            }
        }
        right = left;
    }
    Ok(0)
}

#[cfg(test)]
mod tests;
