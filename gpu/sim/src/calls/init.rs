//! Life cycle of the library, and what it tells about the node.

use std::ffi::c_char;
use std::sync::Arc;

use nvml_wrapper_sys::bindings::nvmlSystemDriverBranchInfo_v1_t;

use crate::abi::{Out, chars};
use crate::code::{self, Answer, Code, NOT_FOUND};
use crate::entry::{entries, guard, pass_faults};
use crate::process;

entries! {
    fn nvmlSystemGetDriverVersion(call, version: Out<c_char>, length: u32) {
        version.text(length, &call.state().node.driver_version.bytes())
    }

    fn nvmlSystemGetNVMLVersion(call, version: Out<c_char>, length: u32) {
        version.text(length, &call.state().node.nvml_version.bytes())
    }

    fn nvmlSystemGetCudaDriverVersion | nvmlSystemGetCudaDriverVersion_v2(call, version: Out<i32>) {
        version.set(call.state().node.cuda_version)
    }

    fn nvmlSystemGetDriverBranch(call, info: Out<nvmlSystemDriverBranchInfo_v1_t>, _length: u32) {
        let branch = chars(&call.state().node.driver_branch.bytes());
        info.set_version(1, nvmlSystemDriverBranchInfo_v1_t { version: info.tag()?, branch })
    }

    fn nvmlSystemGetProcessName(_call, pid: u32, name: Out<c_char>, length: u32) {
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).map_err(|_| NOT_FOUND)?;
        name.text(length, program.as_os_str().as_encoded_bytes())
    }

    fn nvmlUnitGetCount(_call, count: Out<u32>) {
        count.set(0)
    }

    fn nvmlGetExcludedDeviceCount | nvmlGetBlacklistDeviceCount(_call, count: Out<u32>) {
        count.set(0)
    }
}

/// The functions below, which have no initialised library to rely on.
pub(super) const LIFE_CYCLE: &[&str] = &[
    "nvmlInit",
    "nvmlInit_v2",
    "nvmlInitWithFlags",
    "nvmlShutdown",
    "nvmlErrorString",
];

/// Loads the state of the machine; a fault or a held lock applies as to every call.
fn initialise(name: &str) -> Answer {
    let store = process::store_of_environment()?;
    let state = pass_faults(&store, name, None, || Ok(Arc::new(store.load()?)))?;
    match state.node.init_code {
        0 => Ok(()),
        code => Err(Code(code)),
    }?;
    process::with(|process| process.enter(store));
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn nvmlInit() -> u32 {
    guard(|| initialise("nvmlInit"))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlInit_v2() -> u32 {
    guard(|| initialise("nvmlInit_v2"))
}

/// The flags (no GPUs is fine, do not attach) ask for no more than what happens anyway.
#[unsafe(no_mangle)]
extern "C" fn nvmlInitWithFlags(_flags: u32) -> u32 {
    guard(|| initialise("nvmlInitWithFlags"))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlShutdown() -> u32 {
    guard(|| {
        let store = process::with(|process| process.store())?;
        // A state that is gone or damaged must not keep anybody from leaving.
        if store.load().is_ok() {
            pass_faults(&store, "nvmlShutdown", None, || Ok(Arc::new(store.load()?)))?;
        }
        process::with(process::Process::leave)
    })
}

/// Takes no lock and needs no initialisation, as in the real library.
#[unsafe(no_mangle)]
extern "C" fn nvmlErrorString(result: u32) -> *const c_char {
    code::text(result).as_ptr()
}
