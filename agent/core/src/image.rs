//! Names of images, as registries and pull records read them.

use std::fmt;

/// Registry that names without one mean, and the names that it goes by.
const DEFAULT_DOMAIN: &str = "docker.io";
const LEGACY_DOMAIN: &str = "index.docker.io";
/// Folder of the default registry for names without one.
const OFFICIAL: &str = "library/";
/// Tag of a name that has neither tag nor digest (Kubernetes 1.37: the kubelet adds it).
const DEFAULT_TAG: &str = "latest";

/// Longest repository name, and longest tag.
const NAME_LIMIT: usize = 255;
const TAG_LIMIT: usize = 128;

/// The parts of an image name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageReference {
    /// As written, without tag and digest.
    pub written: String,
    /// Tag, if written.
    pub tag: Option<String>,
    /// Digest with its algorithm, if written.
    pub digest: Option<String>,
}

/// A text that is no image name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageReferenceError {
    /// It does not follow the grammar.
    #[error("invalid reference format")]
    Format,
    /// Registries know small letters only.
    #[error("invalid reference format: repository name must be lowercase")]
    Uppercase,
    /// Runtimes would take it for the identity of an image.
    #[error("invalid repository name, cannot specify 64-byte hexadecimal strings")]
    Identity,
    /// The repository is too long.
    #[error("repository name must not be more than 255 characters")]
    Long,
}

impl ImageReference {
    /// Reads `[registry[:port]/]path[:tag][@digest]`, by the grammar of the distribution project.
    pub fn parse(text: &str) -> Result<Self, ImageReferenceError> {
        if text.len() == 64 && text.bytes().all(is_small_hex) {
            return Err(ImageReferenceError::Identity);
        }
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (text, None),
        };
        let path = rest.rfind('/').map_or(0, |slash| slash + 1);
        let (written, tag) = match rest.get(path..).and_then(|last| last.find(':')) {
            Some(colon) => (
                rest.get(..path + colon).unwrap_or_default(),
                rest.get(path + colon + 1..),
            ),
            None => (rest, None),
        };
        let (domain, path) = split_domain(written);
        if path.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err(ImageReferenceError::Uppercase);
        }
        let well_formed = is_domain(domain)
            && path.split('/').all(is_component)
            && tag.is_none_or(is_tag)
            && digest.is_none_or(is_digest);
        if !well_formed {
            return Err(ImageReferenceError::Format);
        }
        let this = Self {
            written: written.to_owned(),
            tag: tag.map(str::to_owned),
            digest: digest.map(str::to_owned),
        };
        if this.repository().len() > NAME_LIMIT {
            return Err(ImageReferenceError::Long);
        }
        Ok(this)
    }

    /// Registry and path in full, as credentials are looked up: `docker.io/library/busybox`.
    pub fn repository(&self) -> String {
        let (domain, path) = split_domain(&self.written);
        if domain == DEFAULT_DOMAIN && !path.contains('/') {
            format!("{domain}/{OFFICIAL}{path}")
        } else {
            format!("{domain}/{path}")
        }
    }
}

/// As it was written, with the default tag where there is neither tag nor digest.
impl fmt::Display for ImageReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)?;
        match (&self.tag, &self.digest) {
            (None, None) => write!(f, ":{DEFAULT_TAG}"),
            (tag, digest) => {
                if let Some(tag) = tag {
                    write!(f, ":{tag}")?;
                }
                match digest {
                    Some(digest) => write!(f, "@{digest}"),
                    None => Ok(()),
                }
            }
        }
    }
}

/// Registry and path. A first part is a registry if it has a dot, a port or capital letters, or is
/// `localhost`.
fn split_domain(name: &str) -> (&str, &str) {
    let Some((first, rest)) = name.split_once('/') else {
        return (DEFAULT_DOMAIN, name);
    };
    let host = first.contains(['.', ':'])
        || first == "localhost"
        || first.bytes().any(|byte| byte.is_ascii_uppercase());
    match first {
        LEGACY_DOMAIN => (DEFAULT_DOMAIN, rest),
        _ if host => (first, rest),
        _ => (DEFAULT_DOMAIN, name),
    }
}

fn is_domain(domain: &str) -> bool {
    if let Some(rest) = domain.strip_prefix('[') {
        let Some((address, port)) = rest.split_once(']') else {
            return false;
        };
        let hex = |byte: u8| byte.is_ascii_hexdigit() || byte == b':';
        return !address.is_empty()
            && address.bytes().all(hex)
            && (port.is_empty() || port.strip_prefix(':').is_some_and(is_number));
    }
    let (host, port) = match domain.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (domain, None),
    };
    let label = |label: &str| {
        let inside = label
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        !label.is_empty() && inside && !label.starts_with('-') && !label.ends_with('-')
    };
    host.split('.').all(label) && port.is_none_or(is_number)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Small letters and digits with separators between them: one dot, one or two underscores, hyphens.
fn is_component(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let ends = |byte: Option<&u8>| byte.is_some_and(|byte| plain(*byte));
    let bytes = text.as_bytes();
    let separators = text
        .split(|letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit())
        .filter(|between| !between.is_empty());
    ends(bytes.first())
        && ends(bytes.last())
        && separators.into_iter().all(|between| {
            matches!(between, "." | "_" | "__") || between.bytes().all(|b| b == b'-')
        })
}

fn is_tag(tag: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let first = tag.bytes().next().is_some_and(word);
    let all = |byte: u8| word(byte) || byte == b'.' || byte == b'-';
    first && tag.len() <= TAG_LIMIT && tag.bytes().all(all)
}

fn is_digest(digest: &str) -> bool {
    let Some((algorithm, hash)) = digest.split_once(':') else {
        return false;
    };
    let length = match algorithm {
        "sha256" => hash.len() == 64,
        "sha384" => hash.len() == 96,
        "sha512" => hash.len() == 128,
        _ => false,
    };
    length && hash.bytes().all(is_small_hex)
}

fn is_small_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
}

#[cfg(test)]
mod tests;
