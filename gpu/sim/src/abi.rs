//! Pointers as C callers pass them, with NULL and buffer sizes checked in one place.
//!
//! All `unsafe` code of the exported functions is here. The types have the layout of a C pointer and
//! appear as parameters of exported functions, so their values come from the caller, whose side of
//! the NVML contract is: a pointer is NULL or valid for what the function's documentation says.

use std::ffi::c_char;

use nvml_wrapper_sys::bindings::nvmlUUIDValue_t;

use crate::code::{ARGUMENT_VERSION_MISMATCH, Answer, Code, INSUFFICIENT_SIZE, INVALID_ARGUMENT};

/// Longest string that is read from a caller. The longest identity of a GPU has 95 characters.
const LONGEST_INPUT: usize = 256;

/// `T *`: a place the function writes to, and sometimes reads first; or an array of them.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

/// `const T *`: a value the function reads.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct In<T>(*const T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T: Copy> Out<T> {
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Writes the value; NULL is an invalid argument.
    pub(crate) fn set(self, value: T) -> Answer {
        if self.0.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        // SAFETY: not NULL, so by the NVML contract valid for a write of `T` (see the module comment).
        unsafe { self.0.write(value) };
        Ok(())
    }

    /// Reads what the caller put there; NULL is an invalid argument.
    pub(crate) fn get(self) -> Result<T, Code> {
        if self.0.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        // SAFETY: not NULL, so by the NVML contract valid for a read of `T`; every `T` used here is
        // plain integers and pointers, for which all bit patterns are valid.
        Ok(unsafe { self.0.read() })
    }

    /// Writes an array; the caller's room is a matter of the function's contract.
    pub(crate) fn fill(self, values: &[T]) -> Answer {
        for (index, value) in values.iter().enumerate() {
            self.at(index).set(*value)?;
        }
        Ok(())
    }

    /// Element `index` of an array.
    pub(crate) fn at(self, index: usize) -> Self {
        if self.0.is_null() {
            self
        } else {
            Self(self.0.wrapping_add(index))
        }
    }

    /// The same place as another type, for structures that begin alike.
    pub(crate) fn cast<U: Copy>(self) -> Out<U> {
        Out(self.0.cast())
    }

    /// What follows this structure in memory.
    pub(crate) fn after<U: Copy>(self) -> Out<U> {
        self.at(1).cast()
    }

    /// The version tag in the first field of a versioned structure.
    pub(crate) fn tag(self) -> Result<u32, Code> {
        self.cast::<u32>().get()
    }

    /// Writes a versioned structure if the caller's tag says that it expects this version.
    pub(crate) fn set_version(self, version: u32, value: T) -> Answer {
        if self.tag()? != tag::<T>(version) {
            return Err(ARGUMENT_VERSION_MISMATCH);
        }
        self.set(value)
    }

    /// Writes a list under NVML's rule for lists: `count` says how much room there is and gets the
    /// true number; too little room is an error, and no array at all a question for the number.
    pub(crate) fn list(self, count: Out<u32>, values: &[T]) -> Answer {
        let room = count.get()?;
        let number = u32::try_from(values.len()).map_err(|_| INSUFFICIENT_SIZE)?;
        count.set(number)?;
        if room < number {
            return Err(INSUFFICIENT_SIZE);
        }
        self.fill(values)
    }
}

impl Out<c_char> {
    /// Writes a string and its final NUL into a buffer of `length` bytes.
    pub(crate) fn text(self, length: u32, bytes: &[u8]) -> Answer {
        if self.0.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        let room = usize::try_from(length).unwrap_or(usize::MAX);
        if bytes.len() >= room {
            return Err(INSUFFICIENT_SIZE);
        }
        for (index, byte) in bytes.iter().chain(&[0]).enumerate() {
            self.at(index).set(c_char::from_ne_bytes([*byte]))?;
        }
        Ok(())
    }
}

impl<T: Copy> In<T> {
    /// Reads the value; NULL is an invalid argument.
    pub(crate) fn get(self) -> Result<T, Code> {
        Out(self.0.cast_mut()).get()
    }
}

impl In<c_char> {
    /// Reads a C string; NULL or an endless string is an invalid argument.
    pub(crate) fn text(self) -> Result<String, Code> {
        let start = Out(self.0.cast_mut());
        let mut bytes = Vec::new();
        while bytes.len() < LONGEST_INPUT {
            let [byte] = start.at(bytes.len()).get()?.to_ne_bytes();
            if byte == 0 {
                return Ok(String::from_utf8_lossy(&bytes).into_owned());
            }
            bytes.push(byte);
        }
        Err(INVALID_ARGUMENT)
    }
}

/// The tag of a versioned structure: its size and, in the upper 8 bits, the version.
#[expect(
    clippy::cast_possible_truncation,
    reason = "C structures are far smaller than 16 MiB"
)]
pub(crate) const fn tag<T>(version: u32) -> u32 {
    size_of::<T>() as u32 | version << 24
}

/// A fixed character array of a C structure: cut to fit, always with a final NUL.
pub(crate) fn chars<const N: usize>(bytes: &[u8]) -> [c_char; N] {
    let mut array = [0; N];
    for (place, byte) in array.iter_mut().take(N.saturating_sub(1)).zip(bytes) {
        *place = c_char::from_ne_bytes([*byte]);
    }
    array
}

/// A byte array of a C structure: cut or filled with zeros to fit.
pub(crate) fn bytes<const N: usize>(source: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    for (place, byte) in array.iter_mut().zip(source) {
        *place = *byte;
    }
    array
}

/// Both readings of a UUID that a caller passed: as text and as bytes.
pub(crate) fn uuid_forms(value: nvmlUUIDValue_t) -> ([u8; 41], [u8; 16]) {
    // SAFETY: both fields are plain bytes, for which every content is valid, and the caller passed a
    // whole union (its version tag was checked).
    let (text, bytes) = unsafe { (value.str_, value.bytes) };
    (
        text.map(|byte| u8::from_ne_bytes(byte.to_ne_bytes())),
        bytes,
    )
}

#[cfg(test)]
mod tests;
