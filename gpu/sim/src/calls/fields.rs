//! Field values: many facts in one call, each with its own return code.

mod table;

use std::time::Instant;

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlFieldValue_t, nvmlValue_t};

use crate::abi::Out;
use crate::code::{Code, INVALID_ARGUMENT, NOT_SUPPORTED};
use crate::entry::{entries, unix_milliseconds};
use crate::state::Gpu;
use table::{Kind, TABLE};

entries! {
    fn nvmlDeviceGetFieldValues(call, device: nvmlDevice_t, count: i32, values: Out<nvmlFieldValue_t>) {
        let gpu = call.gpu(device)?;
        let count = usize::try_from(count).map_err(|_| INVALID_ARGUMENT)?;
        for index in 0..count {
            let place = values.at(index);
            place.set(answer(&gpu, place.get()?))?;
        }
        if count == 0 { Err(INVALID_ARGUMENT) } else { Ok(()) }
    }
}

/// The question with its answer filled in.
fn answer(gpu: &Gpu, question: nvmlFieldValue_t) -> nvmlFieldValue_t {
    let began = Instant::now();
    let (kind, outcome) = read(gpu, question.fieldId, question.scopeId);
    let (code, value) = match outcome {
        Ok(value) => (0, value),
        Err(code) => (code.0, 0),
    };
    let microseconds = unix_milliseconds().saturating_mul(1000);
    nvmlFieldValue_t {
        timestamp: i64::try_from(microseconds).unwrap_or(i64::MAX),
        latencyUsec: i64::try_from(began.elapsed().as_micros()).unwrap_or(i64::MAX),
        valueType: kind.number(),
        nvmlReturn: code,
        value: union_of(kind, value),
        ..question
    }
}

/// Looks a field up; what `gpusim set <gpu> fields.<id>` put there comes first.
fn read(gpu: &Gpu, id: u32, scope: u32) -> (Kind, Result<u64, Code>) {
    let row = TABLE.iter().find(|row| row.ids.contains(&id));
    let kind = row.map_or(Kind::Long, |row| row.kind);
    if let Some(value) = gpu.fields.get(&id) {
        return (kind, Ok(*value));
    }
    let value = row.and_then(|row| (row.read)(gpu, id - row.ids.start(), scope));
    (kind, value.ok_or(NOT_SUPPORTED))
}

/// The C union; the bytes beyond the value are zero.
fn union_of(kind: Kind, value: u64) -> nvmlValue_t {
    match kind {
        Kind::Long => nvmlValue_t { ullVal: value },
        // Little-endian machines find a 32-bit value in the lower half of the union, and signed
        // values are stored in two's complement already.
        Kind::Int | Kind::Signed => nvmlValue_t {
            ullVal: value & u64::from(u32::MAX),
        },
    }
}

#[cfg(test)]
mod tests;
