//! `update-ldcache`: makes the container's loader find the mounted libraries.
//!
//! Nothing here fails a container: most images find the libraries without it, because they lie in a
//! folder that the loader searches anyway.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::fs::{AtFlags, Mode, OFlags, openat, unlinkat};
use rustix::io::Errno;

use super::{Container, tell};

/// The host's program. On Ubuntu `ldconfig` is a script that puts off its work while packages are
/// being installed, so the real one comes first.
pub(super) const PROGRAMS: &[&str] = &[
    "/sbin/ldconfig.real",
    "/sbin/ldconfig",
    "/usr/sbin/ldconfig",
];

/// Searched before what the image lists itself.
const OUR_FILE: &str = "00-gpulet.conf";
const FOLDER: &str = "/etc/ld.so.conf.d";
const INCLUDE: &str = "include /etc/ld.so.conf.d/*.conf\n";

pub(super) fn update(
    container: &Container,
    folders: &[&str],
    programs: &[&str],
    messages: &mut dyn Write,
) {
    if container.root.find(Path::new("/etc/ld.so.cache")).is_err() {
        return tell(
            messages,
            "the image has no library cache, so there is none to update",
        );
    }
    let Some(program) = programs.iter().find(|program| Path::new(program).is_file()) else {
        return tell(
            messages,
            "this host has no ldconfig; the container's library cache stays as it is",
        );
    };
    if let Err(error) = list_folders(container, folders) {
        return tell(
            messages,
            &format!("folders cannot be listed in {FOLDER}: {error}"),
        );
    }
    let run = Command::new(program)
        .arg("-r")
        .arg(&container.path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output();
    match run {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            let words = String::from_utf8_lossy(&output.stderr);
            tell(
                messages,
                &format!("{program} ended with {}: {}", output.status, words.trim()),
            );
        }
        Err(error) => tell(messages, &format!("{program} cannot be run: {error}")),
    }
}

fn list_folders(container: &Container, folders: &[&str]) -> io::Result<()> {
    let etc = container.root.make_folders(Path::new("/etc"))?;
    match write_new(&etc, "ld.so.conf", INCLUDE) {
        // The image's own stays. One that does not include the folder leaves the cache as it was.
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let folder = container.root.make_folders(Path::new(FOLDER))?;
    // From an earlier start of the same container, or a link that the image has planted.
    match unlinkat(&folder, OUR_FILE, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let lines: String = folders.iter().map(|folder| format!("{folder}\n")).collect();
    Ok(write_new(&folder, OUR_FILE, &lines)?)
}

/// Writes a file that must not exist; what has its name already is not followed.
fn write_new(folder: &OwnedFd, name: &str, content: &str) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::from_raw_mode(0o644))?;
    let written = File::from(file).write_all(content.as_bytes());
    written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}
