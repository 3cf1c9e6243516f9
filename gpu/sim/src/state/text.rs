//! Text as the C side sees it: any bytes, written in the state file with `\xNN` escapes.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A string of the simulated machine.
///
/// JSON holds Unicode only, but a broken driver may hand out anything: `\xNN` (two hex digits)
/// stands for that byte.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Text(String);

impl Text {
    /// The text as it stands in the state file, escapes included.
    pub fn as_written(&self) -> &str {
        &self.0
    }

    /// The bytes that a C caller gets, without the final NUL.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.0.len());
        let mut rest = self.0.as_str();
        while let Some(position) = rest.find("\\x") {
            let (plain, escape) = rest.split_at(position);
            bytes.extend_from_slice(plain.as_bytes());
            match escape
                .get(2..4)
                .and_then(|hex| u8::from_str_radix(hex, 16).ok())
            {
                Some(byte) => {
                    bytes.push(byte);
                    rest = escape.get(4..).unwrap_or_default();
                }
                None => {
                    bytes.extend_from_slice(b"\\x");
                    rest = escape.get(2..).unwrap_or_default();
                }
            }
        }
        bytes.extend_from_slice(rest.as_bytes());
        bytes
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for Text {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}
