//! Unix sockets to listen on.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use nix::unistd::Group;
use tokio::net::UnixListener;

/// A socket that cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Somebody answers there.
    #[error("another process listens on {path}; stop it or choose another socket")]
    Taken {
        /// The socket.
        path: PathBuf,
    },
    /// Something that is no socket lies there.
    #[error("{path} exists and is no socket; move it away or choose another socket")]
    NotASocket {
        /// The file.
        path: PathBuf,
    },
    /// The group is unknown.
    #[error("there is no group {group:?} for the socket {path}")]
    Group {
        /// The socket.
        path: PathBuf,
        /// The group asked for.
        group: String,
    },
    /// The system refused.
    #[error("cannot listen on {path}")]
    Io {
        /// The socket.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
}

/// Listens on a Unix socket with mode 0660 and, if given, a group. A socket that nobody answers on is
/// what a killed process left behind: it is replaced. The folder is made with mode 0755.
pub fn bind_unix(path: &Path, group: Option<&str>) -> Result<UnixListener, SocketError> {
    let io = |source| SocketError::Io {
        path: path.to_owned(),
        source,
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(io)?;
    }
    match fs::symlink_metadata(path) {
        Ok(meta) if !meta.file_type().is_socket() => {
            return Err(SocketError::NotASocket {
                path: path.to_owned(),
            });
        }
        Ok(_) if UnixStream::connect(path).is_ok() => {
            return Err(SocketError::Taken {
                path: path.to_owned(),
            });
        }
        Ok(_) => fs::remove_file(path).map_err(io)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(io(error)),
    }
    let group = group.map(|name| find_group(path, name)).transpose()?;
    // Bound under another name first, so that nobody can connect before the mode is right.
    let hidden = path.with_extension("binding");
    match fs::remove_file(&hidden) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io(error)),
        _ => {}
    }
    let listener = UnixListener::bind(&hidden).map_err(io)?;
    fs::set_permissions(&hidden, fs::Permissions::from_mode(0o660)).map_err(io)?;
    if let Some(gid) = group {
        chown(&hidden, None, Some(gid)).map_err(io)?;
    }
    fs::rename(&hidden, path).map_err(io)?;
    Ok(listener)
}

fn find_group(path: &Path, name: &str) -> Result<u32, SocketError> {
    let unknown = || SocketError::Group {
        path: path.to_owned(),
        group: name.to_owned(),
    };
    if let Ok(gid) = name.parse() {
        return Ok(gid);
    }
    Group::from_name(name)
        .ok()
        .flatten()
        .map(|group| group.gid.as_raw())
        .ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[tokio::test]
    async fn replaces_a_dead_socket_and_refuses_a_live_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sub/agent.sock");
        let first = bind_unix(&path, None).unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o660
        );
        assert!(matches!(
            bind_unix(&path, None),
            Err(SocketError::Taken { .. })
        ));
        drop(first);
        let second = bind_unix(&path, Some("0")).unwrap();
        assert!(UnixStream::connect(&path).is_ok());
        drop(second);
    }

    #[tokio::test]
    async fn never_removes_what_is_no_socket_and_names_an_unknown_group() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "precious").unwrap();
        assert!(matches!(
            bind_unix(&path, None),
            Err(SocketError::NotASocket { .. })
        ));
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        let error = bind_unix(&folder.path().join("sock"), Some("no-such-group")).unwrap_err();
        assert!(error.to_string().contains("no-such-group"));
    }
}
