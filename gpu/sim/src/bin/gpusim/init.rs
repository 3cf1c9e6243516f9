//! Making a machine.

use std::env;
use std::path::{Path, PathBuf};

use nvidia_ml::{
    Profile, State, Store, follow_device_nodes, free_majors, make_driver_root, profile_names,
};

use crate::arguments::Init;
use crate::failure::Failure;
use crate::say;

/// Where the library is, as seen from the folder of this program.
const LIBRARY: &str = "../lib/libnvidia-ml.so.1";

/// Makes a machine from a profile, with the device nodes and the driver root that were asked for.
pub(crate) fn init(store: &Store, options: &Init) -> Result<(), Failure> {
    let mut state = Profile::named(&options.profile)?.machine(&options.profile, options.seed)?;
    if let Some(dev_root) = &options.dev_root {
        state.node.dev_root = Some(absolute(dev_root));
        state.node.majors = free_majors();
        follow_device_nodes(&state)?;
    }
    if let Some(driver_root) = &options.driver_root {
        make_driver_root(driver_root, &state, &library(options.library.as_deref())?)?;
    }
    store.create(&state)?;
    say(&report(store, &state, options));
    Ok(())
}

fn report(store: &Store, state: &State, options: &Init) -> String {
    let name = state
        .gpus
        .first()
        .map(|gpu| gpu.name.to_string())
        .unwrap_or_default();
    let mut text = format!(
        "{} x {name}, driver {}, in {}",
        state.gpus.len(),
        state.node.driver_version,
        store.dir().display(),
    );
    if let Some(dev_root) = &options.dev_root {
        text.push_str(&format!(
            "\ndevice nodes in {}",
            dev_root.join("dev").display()
        ));
    }
    if let Some(driver_root) = &options.driver_root {
        text.push_str(&format!("\ndriver root in {}", driver_root.display()));
    }
    text
}

/// Lists the profiles with their sources.
pub(crate) fn list_profiles() -> Result<(), Failure> {
    for name in profile_names() {
        say(&format!(
            "{name:12} {}",
            Profile::named(name)?.source.trim()
        ));
    }
    Ok(())
}

fn library(named: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(path) = named {
        return Ok(path.to_owned());
    }
    let program = env::current_exe().ok();
    let beside = program
        .as_deref()
        .and_then(Path::parent)
        .map(|folder| folder.join(LIBRARY));
    beside
        .filter(|path| path.exists())
        .ok_or(Failure::NoLibrary)
}

/// Other programs read the path too, from other working directories.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
