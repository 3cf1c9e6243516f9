//! UUIDs that depend on words only, so that a machine made again has the same ones.

use sha2::{Digest, Sha256};

/// The UUID of a list of words, in lower case with hyphens.
pub(crate) fn from_words(words: &[&str]) -> String {
    let mut digest = Sha256::new();
    for word in words {
        digest.update(word.as_bytes());
        digest.update([0]);
    }
    let hex: String = digest
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default().to_owned();
    [
        part(0, 8),
        part(8, 12),
        part(12, 16),
        part(16, 20),
        part(20, 32),
    ]
    .join("-")
}

/// The 16 bytes of a UUID in text form; bytes that are not there are zero.
pub(crate) fn to_bytes(text: &str) -> [u8; 16] {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pairs = digits.chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).unwrap_or_default();
        u8::from_str_radix(pair, 16).unwrap_or_default()
    });
    crate::abi::bytes(&pairs.collect::<Vec<u8>>())
}
