//! The hooks that the document names, run by a runtime while it makes a container.
//!
//! A runtime gives the container's state on standard input and runs the hook in the container's mount
//! namespace before the root is changed (OCI runtime specification, `createContainer`), so the host's
//! programs are still there and the container's root is a folder.

mod ldcache;
mod symlinks;

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::root::Root;

/// A state is a few hundred bytes; more than this is no state.
const STATE_LIMIT: u64 = 1 << 20;

/// Why a hook fails, and with it the container. What a container can do without is only told.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// The command line is none of ours.
    #[error(
        "{0}; usage: cdi-hook create-symlinks [--link TARGET::PATH]... | update-ldcache [--folder PATH]..."
    )]
    Usage(String),
    /// Standard input is not a container's state.
    #[error("the container's state on standard input cannot be read")]
    State(#[source] io::Error),
    /// The bundle is not one.
    #[error("{path} of the container's bundle cannot be used")]
    Bundle {
        /// File or folder.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// A link could not be made.
    #[error("link {link} cannot be made in the container")]
    Link {
        /// Path of the link in the container.
        link: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
}

/// A container whose root is being prepared.
struct Container {
    path: PathBuf,
    root: Root,
}

#[derive(Deserialize)]
struct State {
    bundle: PathBuf,
}

#[derive(Deserialize)]
struct Bundle {
    root: BundleRoot,
}

#[derive(Deserialize)]
struct BundleRoot {
    path: PathBuf,
}

/// Runs one hook: `arguments` are those after `cdi-hook`, `state` is standard input, `messages` standard error.
pub fn run_hook(
    arguments: &[String],
    state: impl Read,
    messages: &mut dyn Write,
) -> Result<(), HookError> {
    let (verb, options) = arguments
        .split_first()
        .ok_or_else(|| usage("a verb is missing"))?;
    match verb.as_str() {
        "create-symlinks" => {
            let links = values(options, "--link")?;
            symlinks::create(&Container::of(state)?.root, &links, messages)
        }
        "update-ldcache" => {
            let folders = values(options, "--folder")?;
            let container = Container::of(state)?;
            ldcache::update(&container, &folders, ldcache::PROGRAMS, messages);
            Ok(())
        }
        other => Err(usage(&format!("{other:?} is not a verb"))),
    }
}

impl Container {
    fn of(state: impl Read) -> Result<Self, HookError> {
        let state: State = serde_json::from_reader(state.take(STATE_LIMIT))
            .map_err(|e| HookError::State(e.into()))?;
        let file = state.bundle.join("config.json");
        let unusable = |path: &Path| {
            let path = path.to_owned();
            move |source| HookError::Bundle { path, source }
        };
        let text = fs::read(&file).map_err(unusable(&file))?;
        let bundle: Bundle =
            serde_json::from_slice(&text).map_err(|error| unusable(&file)(error.into()))?;
        let path = state.bundle.join(bundle.root.path);
        let root = Root::open(&path).map_err(unusable(&path))?;
        Ok(Self { path, root })
    }
}

/// Values of an option that may be repeated, the only option there is.
fn values<'a>(options: &'a [String], option: &str) -> Result<Vec<&'a str>, HookError> {
    let pairs = options.chunks(2).map(|pair| match pair {
        [name, value] if name == option => Ok(value.as_str()),
        other => Err(usage(&format!("{other:?} is not {option} and its value"))),
    });
    pairs.collect()
}

fn usage(what: &str) -> HookError {
    HookError::Usage(what.to_owned())
}

/// Tells something that is no failure. Nobody may be reading, which changes nothing.
fn tell(messages: &mut dyn Write, text: &str) {
    let _ = writeln!(messages, "{text}");
}

#[cfg(test)]
mod tests;
