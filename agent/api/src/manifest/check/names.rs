//! Forms of names (RFC 1123 as Kubernetes narrows it, and IANA service names).

/// What a label is.
pub(super) const LABEL: &str =
    "it must have at most 63 characters, a-z, 0-9 and -, with a letter or digit at both ends";
/// What a subdomain is.
pub(super) const SUBDOMAIN: &str =
    "it must have at most 253 characters, a-z, 0-9, - and ., with a letter or digit at both ends";
/// What a port name is.
pub(super) const PORT: &str =
    "it must have at most 15 characters, a-z, 0-9 and -, with at least one letter";

pub(super) fn is_label(name: &str) -> bool {
    name.len() <= 63 && is_word(name)
}

pub(super) fn is_subdomain(name: &str) -> bool {
    name.len() <= 253 && name.split('.').all(is_word)
}

pub(super) fn is_port(name: &str) -> bool {
    let letter = name.bytes().any(|byte| byte.is_ascii_lowercase());
    name.len() <= 15 && is_word(name) && letter && !name.contains("--")
}

/// A UID becomes the name of folders and cgroups.
pub(super) fn is_uid(uid: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    let plain = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    uid.len() <= 128
        && uid.bytes().all(inside)
        && plain(uid.bytes().next())
        && plain(uid.bytes().last())
}

fn is_word(part: &str) -> bool {
    let end = |byte: Option<u8>| {
        byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    part.bytes().all(inside) && end(part.bytes().next()) && end(part.bytes().last())
}
