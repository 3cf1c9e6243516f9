//! A machine in a directory of its own, driven by the real `gpusim`, seen through the built library.

#![allow(
    unsafe_code,
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr
)]

use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nvml_wrapper_sys::bindings::{NvmlLib, nvmlDevice_t};

/// Calls a function of the library; gives its return code.
#[allow(unused_macros)]
macro_rules! call {
    ($machine:expr, $name:ident($($argument:expr),* $(,)?)) => {{
        // SAFETY: the arguments are handles from this library, numbers, and pointers to live values
        // of the types that the function's prototype names.
        unsafe { $machine.lib.$name($($argument),*) }
    }};
}

/// Long enough that only a wait which never ends exceeds it.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// One machine at a time: the library knows its state directory from the environment of the process.
static ONE_MACHINE: Mutex<()> = Mutex::new(());

/// A simulated machine and the library, initialised.
pub(crate) struct Machine {
    _turn: MutexGuard<'static, ()>,
    folder: tempfile::TempDir,
    pub(crate) lib: NvmlLib,
}

impl Machine {
    /// A machine of this kind; NVML is initialised.
    pub(crate) fn new(profile: &str) -> Self {
        let machine = Self::without_init(profile);
        assert_eq!(call!(machine, nvmlInit_v2()), 0);
        machine
    }

    /// A machine of this kind; NVML is not initialised yet.
    pub(crate) fn without_init(profile: &str) -> Self {
        let turn = ONE_MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().unwrap();
        // SAFETY: the tests of one program take turns, and none of them reads the environment
        // while another thread of it runs.
        unsafe { std::env::set_var("GPUSIM_STATE", folder.path().join("state")) };
        // SAFETY: loading the library runs no code of its own.
        let lib = unsafe { NvmlLib::new(library()) }.unwrap();
        let machine = Self {
            _turn: turn,
            folder,
            lib,
        };
        machine.gpusim(&["init", "--profile", profile]);
        machine
    }

    /// The state file.
    pub(crate) fn state_file(&self) -> PathBuf {
        self.folder.path().join("state/state.json")
    }

    /// Runs a command that works.
    pub(crate) fn gpusim(&self, words: &[&str]) -> String {
        let output = gpusim(&self.folder.path().join("state"), words);
        assert!(
            output.status.success(),
            "{words:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// The handle of a GPU.
    pub(crate) fn gpu(&self, index: u32) -> nvmlDevice_t {
        let mut device = std::ptr::null_mut();
        assert_eq!(
            call!(self, nvmlDeviceGetHandleByIndex_v2(index, &raw mut device)),
            0
        );
        device
    }

    /// The name of a device, or the code.
    pub(crate) fn name(&self, device: nvmlDevice_t) -> Result<String, u32> {
        text(|buffer, length| call!(self, nvmlDeviceGetName(device, buffer, length)))
    }

    /// The UUID of a device, or the code.
    pub(crate) fn uuid(&self, device: nvmlDevice_t) -> Result<String, u32> {
        text(|buffer, length| call!(self, nvmlDeviceGetUUID(device, buffer, length)))
    }

    /// The number of GPUs, or the code.
    pub(crate) fn count(&self) -> Result<u32, u32> {
        value(|place| call!(self, nvmlDeviceGetCount_v2(place)))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Whatever the test did, the next one begins anew.
        while call!(self, nvmlShutdown()) == 0 {}
    }
}

/// Reads a text of at most 95 bytes.
pub(crate) fn text(read: impl FnOnce(*mut c_char, u32) -> u32) -> Result<String, u32> {
    let mut buffer = [0; 96];
    match read(buffer.as_mut_ptr(), 96) {
        // SAFETY: the library ended the text with a NUL inside the buffer.
        0 => Ok(unsafe { CStr::from_ptr(buffer.as_ptr()) }
            .to_string_lossy()
            .into_owned()),
        code => Err(code),
    }
}

/// Reads one value.
pub(crate) fn value<T: Default>(read: impl FnOnce(*mut T) -> u32) -> Result<T, u32> {
    let mut value = T::default();
    match read(&raw mut value) {
        0 => Ok(value),
        code => Err(code),
    }
}

/// Runs `gpusim` on a state directory.
pub(crate) fn gpusim(state: &Path, words: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_gpusim");
    Command::new(program)
        .arg("--state")
        .arg(state)
        .args(words)
        .output()
        .unwrap()
}

/// The library that cargo built for this test. (`cargo build` alone copies it beside `gpusim`, and that
/// copy may be older.)
pub(crate) fn library() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_gpusim")).with_file_name("deps/libnvidia_ml.so")
}

/// Whether this process may administer GPUs; tells why not.
pub(crate) fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        eprintln!("skipped: administration needs root");
    }
    root
}
