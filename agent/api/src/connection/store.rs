//! Certificates of the node in `--cert-dir`, in the stock kubelet's layout.
//!
//! `NAME-<time>.pem` holds chain and key; the link `NAME-current.pem` leads to the present one.
//! `NAME-updated.pem` is the link on its way to become it (Kubernetes 1.37).

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use super::error::{ConnectionError, read};
use super::pair::Pair;

/// Pairs of one kind.
#[derive(Clone, Debug)]
pub(super) struct Store {
    folder: PathBuf,
    name: &'static str,
}

impl Store {
    /// Pairs called `kubelet-client` or `kubelet-server`.
    pub(super) fn new(folder: &Path, name: &'static str) -> Self {
        Self {
            folder: std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()),
            name,
        }
    }

    /// The link to the present pair.
    pub(super) fn link(&self) -> PathBuf {
        self.file("current")
    }

    /// The present pair; `None`: there is none. A switch that was interrupted is finished first.
    pub(super) fn current(&self) -> Result<Option<Pair>, ConnectionError> {
        let link = self.link();
        let updated = self.file("updated");
        if !link.exists() && updated.is_symlink() && updated.exists() {
            rename(&updated, &link)?;
        }
        if !link.exists() {
            return Ok(None);
        }
        let pem = read(&link, "certificate of the node")?;
        Pair::from_pem(&pem, &pem, &link.display().to_string()).map(Some)
    }

    /// Writes a pair and makes it the present one. `stamp` is in the file's name and unique enough:
    /// seconds, as with the stock kubelet.
    pub(super) fn update(
        &self,
        certificate: &str,
        key: &str,
        stamp: &str,
    ) -> Result<Pair, ConnectionError> {
        let file = self.file(stamp);
        let pair = Pair::from_pem(
            certificate.as_bytes(),
            key.as_bytes(),
            &file.display().to_string(),
        )?;
        fs::create_dir_all(&self.folder).map_err(|source| cannot_write(&self.folder, source))?;
        let text = format!("{}\n{}\n", certificate.trim_end(), key.trim_end());
        write_private(&file, text.as_bytes())?;
        self.point_to(&file)?;
        Ok(pair)
    }

    /// Switches the link without a moment in which there is none.
    fn point_to(&self, file: &Path) -> Result<(), ConnectionError> {
        let (link, updated) = (self.link(), self.file("updated"));
        for each in [&link, &updated] {
            if each.exists() && !each.is_symlink() {
                // Somebody else's file: overwriting it would lose a key.
                let source = io::Error::other("it is a file and has to be a link; move it away");
                return Err(cannot_write(each, source));
            }
        }
        match fs::remove_file(&updated) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(cannot_write(&updated, error));
            }
            _ => {}
        }
        symlink(file, &updated).map_err(|source| cannot_write(&updated, source))?;
        rename(&updated, &link)?;
        // The switch itself has to survive a power cut, too.
        let folder = fs::File::open(&self.folder).and_then(|folder| folder.sync_all());
        folder.map_err(|source| cannot_write(&self.folder, source))
    }

    fn file(&self, what: &str) -> PathBuf {
        self.folder.join(format!("{}-{what}.pem", self.name))
    }
}

/// Writes a file that only its owner may read, durably; never seen half written under its name.
pub(super) fn write_private(file: &Path, content: &[u8]) -> Result<(), ConnectionError> {
    write_with(file, content, 0o600)
}

/// Writes a file that everybody may read.
pub(super) fn write_public(file: &Path, content: &[u8]) -> Result<(), ConnectionError> {
    write_with(file, content, 0o644)
}

fn write_with(file: &Path, content: &[u8], mode: u32) -> Result<(), ConnectionError> {
    let mut name = file.as_os_str().to_owned();
    name.push(".tmp");
    let temporary = PathBuf::from(name);
    let write = || {
        // A left-over of a crash may have another mode: never reuse it.
        match fs::remove_file(&temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut opened = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&temporary)?;
        opened.write_all(content)?;
        opened.sync_all()?;
        fs::rename(&temporary, file)
    };
    write().map_err(|source| cannot_write(file, source))
}

fn rename(from: &Path, to: &Path) -> Result<(), ConnectionError> {
    fs::rename(from, to).map_err(|source| cannot_write(to, source))
}

fn cannot_write(file: &Path, source: io::Error) -> ConnectionError {
    ConnectionError::Write {
        file: file.to_owned(),
        what: "certificate of the node",
        source,
    }
}

#[cfg(test)]
mod tests;
