//! The last lines of a CRI log file.

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Bytes read from the end. A line of the log has up to 16 KiB and a head of some 45 bytes, so this
/// holds any end that is asked for, and a runaway log costs no more.
const WINDOW: u64 = 512 * 1024;

/// At most `lines` lines and `bytes` bytes from the end of a log, without time stamps. A file that is
/// not there has none.
///
/// Each line of the file is `<time> <stream> <tag> <text>`; tag `P` means that the text goes on in the
/// next line of that stream.
pub(crate) fn last_lines(path: &Path, lines: usize, bytes: usize) -> io::Result<String> {
    let mut options = OpenOptions::new();
    let nofollow = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let mut file = match options
        .read(true)
        .custom_flags(nofollow.bits().cast_signed())
        .open(path)
    {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        other => other?,
    };
    let length = file.metadata()?.len();
    let start = length.saturating_sub(WINDOW);
    file.seek(SeekFrom::Start(start))?;
    let mut window = Vec::new();
    file.take(WINDOW).read_to_end(&mut window)?;
    let text = String::from_utf8_lossy(&window);
    let mut kept: VecDeque<String> = VecDeque::with_capacity(lines);
    let mut goes_on = false;
    // The first line of a window inside the file is cut.
    for line in text.split_inclusive('\n').skip(usize::from(start > 0)) {
        let mut parts = line.splitn(4, ' ');
        let (Some(_), Some(_), Some(tag), Some(text)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let partial = tag.split(':').any(|tag| tag == "P");
        let text = if partial {
            text.trim_end_matches('\n')
        } else {
            text
        };
        match kept.back_mut().filter(|_| goes_on) {
            Some(last) => last.push_str(text),
            None => kept.push_back(text.to_owned()),
        }
        goes_on = partial;
        if kept.len() > lines {
            kept.pop_front();
        }
    }
    let all: String = kept.into_iter().collect();
    let mut from = all.len().saturating_sub(bytes);
    while !all.is_char_boundary(from) {
        from += 1;
    }
    Ok(all.get(from..).unwrap_or_default().to_owned())
}
