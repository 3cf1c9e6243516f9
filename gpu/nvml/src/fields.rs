//! Field values, which NVML numbers instead of giving each a function.

use nvml_wrapper_sys::bindings::{nvmlFieldValue_t, nvmlValue_t};

use crate::call::{Fault, ask};
use crate::code::Code;
use crate::gpu::Gpu;

/// Recovery action that the driver asks for (`NVML_FI_DEV_GET_GPU_RECOVERY_ACTION`). Its number is the
/// same in all drivers that have it, from 565 on; many others above 250 moved with driver 580.82.
pub(crate) const RECOVERY_ACTION: u32 = 230;

impl Gpu<'_> {
    /// Values of some fields, in the order asked. Some drivers answer with other field numbers than they
    /// were asked for, so only the position tells what is what.
    pub(crate) fn fields<const N: usize>(
        &self,
        ids: [u32; N],
    ) -> Result<[Result<u64, Code>; N], Fault> {
        let mut values = ids.map(|id| nvmlFieldValue_t {
            fieldId: id,
            scopeId: 0,
            timestamp: 0,
            latencyUsec: 0,
            valueType: 0,
            nvmlReturn: 0,
            value: nvmlValue_t { ullVal: 0 },
        });
        let count = i32::try_from(N).unwrap_or(i32::MAX);
        ask!(self.library, nvmlDeviceGetFieldValues, |function| {
            // SAFETY: the handle came from the library, which is still loaded; the buffer has as many
            // entries as the count says.
            unsafe { function(self.handle(), count, values.as_mut_ptr()) }
        })?;
        Ok(values.map(|value| number(&value)))
    }
}

/// The value as a whole number; what is none, or negative, is a wrong answer.
fn number(field: &nvmlFieldValue_t) -> Result<u64, Code> {
    if field.nvmlReturn != 0 {
        return Err(Code(field.nvmlReturn));
    }
    let value = field.value;
    // SAFETY: every member of the union is a plain number, so each is valid for any bit pattern, and
    // the union was zeroed before the library wrote to it.
    let (unsigned, long, signed, signed_long, short) = unsafe {
        (
            value.uiVal,
            value.ullVal,
            value.siVal,
            value.sllVal,
            value.usVal,
        )
    };
    // `nvmlValueType_t`
    match field.valueType {
        1 => Ok(unsigned.into()),
        2 | 3 => Ok(long),
        4 => u64::try_from(signed_long).map_err(|_| Code::UNKNOWN),
        5 => u64::try_from(signed).map_err(|_| Code::UNKNOWN),
        6 => Ok(short.into()),
        _ => Err(Code::UNKNOWN),
    }
}

#[cfg(test)]
mod tests;
