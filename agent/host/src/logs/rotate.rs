//! Rotation: the log that is too large takes the name of the moment, older ones are compressed, the
//! oldest go. Names and order are the stock kubelet's.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::Zoned;

const COMPRESSED: &str = ".gz";
const UNFINISHED: &str = ".tmp";

/// When and how logs are rotated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLimits {
    /// Size in bytes from which a log is rotated (`containerLogMaxSize`); `None`: never.
    pub max_size: Option<u64>,
    /// Log files kept of one instance, the one being written among them, at least 2
    /// (`containerLogMaxFiles`).
    pub max_files: usize,
}

impl Default for LogLimits {
    fn default() -> Self {
        Self {
            max_size: Some(10 * 1024 * 1024),
            max_files: 5,
        }
    }
}

/// Rotates the log at `path` if it is over the limit. True: it was renamed, or it is missing while
/// its container runs; either way the runtime has to open it anew.
pub(crate) fn rotate(path: &Path, limits: LogLimits) -> io::Result<bool> {
    let Some(max_size) = limits.max_size else {
        return Ok(false);
    };
    match fs::symlink_metadata(path) {
        Ok(found) if found.len() < max_size => return Ok(false),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    }
    // One is being written and one is made now.
    let kept = limits.max_files.saturating_sub(2);
    for old in thinned(older(path)?, kept)? {
        if !ends_with(&old, COMPRESSED) {
            compress(&old)?;
        }
    }
    let now = Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
    fs::rename(path, with_suffix(path, &format!(".{now}")))?;
    Ok(true)
}

/// Rotated files of a log in order of age, oldest first. Leftovers of a rotation that was broken off
/// are removed: unfinished copies, and originals whose copy is complete.
fn older(path: &Path) -> io::Result<Vec<PathBuf>> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(Vec::new());
    };
    let prefix = format!("{}.", name.to_string_lossy());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            found.push(entry.path());
        }
    }
    found.sort_unstable();
    let mut used = Vec::new();
    for file in &found {
        let copied = found.contains(&with_suffix(file, COMPRESSED));
        if ends_with(file, UNFINISHED) || copied {
            fs::remove_file(file)?;
        } else {
            used.push(file.clone());
        }
    }
    Ok(used)
}

/// Removes the oldest until `kept` are left.
fn thinned(mut files: Vec<PathBuf>, kept: usize) -> io::Result<Vec<PathBuf>> {
    let surplus = files.len().saturating_sub(kept);
    for file in files.drain(..surplus) {
        fs::remove_file(file)?;
    }
    Ok(files)
}

fn compress(path: &Path) -> io::Result<()> {
    let mut source = File::open(path)?;
    let unfinished = with_suffix(path, UNFINISHED);
    let mut options = OpenOptions::new();
    options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(source.metadata()?.mode() & 0o777);
    let mut encoder = GzEncoder::new(options.open(&unfinished)?, Compression::default());
    io::copy(&mut source, &mut encoder)?;
    encoder.finish()?;
    fs::rename(unfinished, with_suffix(path, COMPRESSED))?;
    fs::remove_file(path)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn ends_with(path: &Path, suffix: &str) -> bool {
    path.as_os_str()
        .as_encoded_bytes()
        .ends_with(suffix.as_bytes())
}
