//! Texts that the library writes into fixed buffers.

use std::ffi::c_char;

/// The text in a buffer: up to the first NUL, or all of it where a faulty library wrote none. What is
/// no UTF-8 and what would upset a terminal or a log is replaced.
pub(crate) fn text(buffer: &[c_char]) -> String {
    let bytes: Vec<u8> = buffer
        .iter()
        .take_while(|byte| **byte != 0)
        .map(|byte| byte.cast_unsigned())
        .collect();
    let clean = |letter: char| {
        if letter.is_control() {
            char::REPLACEMENT_CHARACTER
        } else {
            letter
        }
    };
    String::from_utf8_lossy(&bytes).chars().map(clean).collect()
}

#[cfg(test)]
mod tests;
