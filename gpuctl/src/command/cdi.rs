//! `gpuctl cdi`

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{Context, Done};
use crate::arguments::CdiFolders;
use crate::exit::{CommandError, Exit};
use crate::record::{CdiCheck, CdiFile};
use crate::view;

/// Where runtimes look unless they are told otherwise (CDI specification).
const FOLDERS: [&str; 2] = ["/etc/cdi", "/var/run/cdi"];

#[derive(Serialize)]
struct Files<'a, T> {
    files: &'a [T],
}

pub(super) fn show(context: &Context, folders: &CdiFolders) -> Done {
    let folders = Folders::new(folders);
    let paths = folders.each(gpu_cdi::document_files)?;
    let file = |path: PathBuf| {
        let document = gpu_cdi::read_document(&path);
        CdiFile::new(path.display().to_string(), document)
    };
    let files: Vec<CdiFile> = paths.into_iter().map(file).collect();
    let list = folders.list();
    context.output.show(&Files { files: &files }, |screen| {
        view::cdi(&files, &list, screen)
    })?;
    let unreadable = files.iter().any(|file| file.error.is_some());
    Ok(if unreadable {
        Exit::Partial
    } else {
        Exit::Fine
    })
}

pub(super) fn validate(context: &Context, folders: &CdiFolders) -> Done {
    let folders = Folders::new(folders);
    let reports = folders.each(gpu_cdi::validate)?;
    let checks: Vec<CdiCheck> = reports.into_iter().map(CdiCheck::from).collect();
    let list = folders.list();
    context.output.show(&Files { files: &checks }, |screen| {
        view::cdi_checks(&checks, &list, screen)
    })?;
    let wrong = checks.iter().any(|check| !check.problems.is_empty());
    Ok(if wrong { Exit::Problem } else { Exit::Fine })
}

/// Folders to look into.
struct Folders {
    folders: Vec<PathBuf>,
    /// They were named, so each has to exist.
    named: bool,
}

impl Folders {
    fn new(arguments: &CdiFolders) -> Self {
        let usual = || FOLDERS.iter().map(PathBuf::from).collect();
        let named = !arguments.folders.is_empty();
        Self {
            folders: if named {
                arguments.folders.clone()
            } else {
                usual()
            },
            named,
        }
    }

    fn each<T>(&self, read: impl Fn(&Path) -> io::Result<Vec<T>>) -> Result<Vec<T>, CommandError> {
        let mut all = Vec::new();
        for folder in &self.folders {
            match read(folder) {
                Ok(found) => all.extend(found),
                Err(error) if error.kind() == io::ErrorKind::NotFound && !self.named => {}
                Err(error) => {
                    let folder = folder.display();
                    let text = format!("CDI folder {folder} cannot be read: {error}");
                    return Err(CommandError::NotFound(text));
                }
            }
        }
        Ok(all)
    }

    fn list(&self) -> String {
        let folders = self
            .folders
            .iter()
            .map(|folder| folder.display().to_string());
        folders.collect::<Vec<_>>().join(" and ")
    }
}
