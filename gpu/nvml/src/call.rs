//! One call into the library: its name, its outcome, and a mark that tells other threads what it is.

use std::cell::RefCell;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use nvml_wrapper::error::NvmlError;

use crate::code::{Code, Reach};

/// A call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call}: {code}")]
pub struct Fault {
    /// The NVML function.
    pub call: &'static str,
    /// What it answered.
    pub code: Code,
}

/// What a thread is doing in the library, for others to see while it hangs there.
#[derive(Clone, Default)]
pub struct CallMark(Arc<Mutex<Option<(&'static str, Instant)>>>);

impl CallMark {
    /// The call that the thread is in, and since when.
    pub fn current(&self) -> Option<(&'static str, Instant)> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, call: Option<(&'static str, Instant)>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = call;
    }
}

impl fmt::Debug for CallMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CallMark").field(&self.current()).finish()
    }
}

thread_local! {
    static MARK: RefCell<CallMark> = RefCell::default();
}

/// Shows all calls that this thread makes from now on in `mark`.
pub fn mark_calls(mark: CallMark) {
    MARK.set(mark);
}

/// Makes one call under its name.
pub(crate) fn call<T>(
    name: &'static str,
    body: impl FnOnce() -> Result<T, NvmlError>,
) -> Result<T, Fault> {
    MARK.with_borrow(|mark| mark.set(Some((name, Instant::now()))));
    let outcome = body();
    MARK.with_borrow(|mark| mark.set(None));
    outcome.map_err(|error| Fault {
        call: name,
        code: code_of(error),
    })
}

/// Makes a call that `nvml-wrapper` has not, or not safely: names the symbol, which may be missing in
/// an older library, and gives it to the closure, whose `unsafe` block says why its arguments are good.
macro_rules! ask {
    ($library:expr, $symbol:ident, |$function:ident| $call:expr) => {
        $crate::call::call(stringify!($symbol), || {
            let $function = nvml_wrapper::error::nvml_sym($library.symbols().$symbol.as_ref())?;
            nvml_wrapper::error::nvml_try($call)
        })
    };
}

pub(crate) use ask;

/// Turns the failure of something that a GPU need not have into `None`. A GPU that is lost or needs a
/// reset, and a driver that is gone, stay failures. 999 does not: drivers answer it for single
/// features, and the calls that every GPU must answer show a GPU that is really broken.
pub(crate) fn optional<T>(outcome: Result<T, Fault>) -> Result<Option<T>, Fault> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(fault) if fault.code == Code::UNKNOWN => Ok(None),
        Err(fault) => match fault.code.reach() {
            Reach::Gpu | Reach::Library => Err(fault),
            Reach::Absent | Reach::Request => Ok(None),
        },
    }
}

fn code_of(error: NvmlError) -> Code {
    match error {
        NvmlError::FailedToLoadSymbol(_) => Code::FUNCTION_NOT_FOUND,
        // Codes up to 22 have variants of their own: this is no code but a value that made no sense,
        // and must not be taken for one.
        NvmlError::UnexpectedVariant(0..=22) => Code::UNKNOWN,
        other => Code(other.into()),
    }
}

#[cfg(test)]
mod tests;
