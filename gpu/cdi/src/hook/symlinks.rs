//! `create-symlinks`: links beside the mounted libraries.

use std::io::{self, Write};
use std::path::Path;

use rustix::fs::{AtFlags, readlinkat, symlinkat, unlinkat};
use rustix::io::Errno;

use super::{HookError, tell, usage};
use crate::root::Root;

/// Makes each `target::path`. A link that leads elsewhere is replaced; a file of the image stays.
pub(super) fn create(
    root: &Root,
    links: &[&str],
    messages: &mut dyn Write,
) -> Result<(), HookError> {
    for link in links {
        let (target, path) = link
            .split_once("::")
            .filter(|(target, path)| !target.is_empty() && path.starts_with('/'))
            .ok_or_else(|| usage(&format!("{link:?} is not TARGET::/PATH")))?;
        let path = Path::new(path);
        let made = make(root, target, path).map_err(|source| HookError::Link {
            link: path.to_owned(),
            source,
        })?;
        if !made {
            tell(
                messages,
                &format!("{} is a file of the image and stays", path.display()),
            );
        }
    }
    Ok(())
}

/// False if something that is not a link has the name.
fn make(root: &Root, target: &str, path: &Path) -> io::Result<bool> {
    let name = path.file_name().ok_or(Errno::INVAL)?;
    let folder = root.make_folders(path.parent().unwrap_or(Path::new("/")))?;
    match symlinkat(target, &folder, name) {
        Ok(()) => return Ok(true),
        Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    match readlinkat(&folder, name, Vec::new()) {
        Ok(old) if old.as_bytes() == target.as_bytes() => Ok(true),
        Ok(_) => {
            unlinkat(&folder, name, AtFlags::empty())?;
            symlinkat(target, &folder, name)?;
            Ok(true)
        }
        Err(Errno::INVAL) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
