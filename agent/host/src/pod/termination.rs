//! Termination messages: a file that the container may write its last words to.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Pod;

use crate::logs::last_lines;

/// Most bytes of one message, and of all messages of a pod together (Kubernetes).
const LONGEST: usize = 4096;
const LONGEST_OF_POD: usize = 12 * 1024;
/// Most bytes and lines of a log that stand in for a message.
const LOG_BYTES: usize = 2048;
const LOG_LINES: usize = 80;

/// Makes the file for one instance in `folder`. Containers run as any user, so everybody may write.
pub(super) fn make(folder: &Path, attempt: u32) -> io::Result<PathBuf> {
    let path = file(folder, attempt);
    let mut options = OpenOptions::new();
    options
        .write(true)
        .create(true)
        .truncate(true)
        .custom_flags(NOFOLLOW);
    let file = options.open(&path)?;
    file.set_permissions(fs::Permissions::from_mode(0o666))?;
    Ok(path)
}

/// Removes the file of one instance.
pub(crate) fn remove(folder: &Path, attempt: u32) -> io::Result<()> {
    match fs::remove_file(file(folder, attempt)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The message of an ended instance. `log`: its log file, whose end stands in for an empty message
/// of an instance that failed, if the container says so.
pub(crate) fn message(
    folder: &Path,
    attempt: u32,
    pod: &Pod,
    log: Option<&Path>,
) -> io::Result<String> {
    let bytes = match read_end(folder, attempt) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        other => other?,
    };
    let text = match (bytes.is_empty(), log) {
        (true, Some(log)) => last_lines(log, LOG_LINES, LOG_BYTES)?,
        _ => String::from_utf8_lossy(&bytes).into_owned(),
    };
    Ok(cut(text, share(pod)))
}

/// Bytes that one container of the pod may have: an equal share.
fn share(pod: &Pod) -> usize {
    let spec = pod.spec.as_ref();
    let init = spec
        .and_then(|spec| spec.init_containers.as_ref())
        .map_or(0, Vec::len);
    let main = spec.map_or(0, |spec| spec.containers.len());
    LONGEST.min(LONGEST_OF_POD / (init + main).max(1))
}

fn cut(mut text: String, most: usize) -> String {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text
}

/// The last bytes of the file, read without following a link and without waiting on a FIFO: the
/// container had it in its hands.
fn read_end(folder: &Path, attempt: u32) -> io::Result<Vec<u8>> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(NOFOLLOW | NONBLOCK);
    let mut file = match options.open(file(folder, attempt)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => options.open(newest(folder)?)?,
        other => other?,
    };
    if !file.metadata()?.is_file() {
        return Ok(Vec::new());
    }
    end_of(&mut file, LONGEST)
}

fn end_of(file: &mut File, most: usize) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    let most = u64::try_from(most).unwrap_or(u64::MAX);
    file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The youngest file of the folder. The stock kubelet gives its files random names, so this is the
/// one of a container that it started before this agent took over.
fn newest(folder: &Path) -> io::Result<PathBuf> {
    let mut newest = None;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        if metadata.is_file() {
            newest = newest.max(Some((metadata.modified()?, entry.path())));
        }
    }
    newest
        .map(|(_, path)| path)
        .ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Eight hexadecimal digits, as the stock kubelet's names have.
fn file(folder: &Path, attempt: u32) -> PathBuf {
    folder.join(format!("{attempt:08x}"))
}

/// `O_NOFOLLOW` and `O_NONBLOCK`.
const NOFOLLOW: i32 = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();

#[cfg(test)]
mod tests;
