//! For which images on the node a pod has to show that it may pull them.

use std::collections::BTreeSet;

use agent_core::ImageReference;

/// `imagePullCredentialsVerificationPolicy` (Kubernetes 1.37).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    NeverVerify,
    NeverVerifyPreloadedImages,
    NeverVerifyAllowlistedImages(Allowlist),
    AlwaysVerify,
}

/// Images that everybody may use: whole names, and beginnings of names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Allowlist {
    names: BTreeSet<String>,
    prefixes: Vec<String>,
}

/// Why the policy cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// No such policy.
    #[error(
        "imagePullCredentialsVerificationPolicy has the value {0:?}, allowed are NeverVerify, \
         NeverVerifyPreloadedImages, NeverVerifyAllowlistedImages and AlwaysVerify"
    )]
    Name(String),
    /// A bad entry of the list.
    #[error("preloadedImagesVerificationAllowlist: {pattern:?} {why}")]
    Pattern {
        /// The entry.
        pattern: String,
        /// What is wrong with it.
        why: &'static str,
    },
}

impl Policy {
    /// The default has an empty name. The list counts for one policy only.
    pub(crate) fn new(name: &str, allowlist: &[String]) -> Result<Self, PolicyError> {
        match name {
            "NeverVerify" => Ok(Self::NeverVerify),
            "NeverVerifyPreloadedImages" | "" => Ok(Self::NeverVerifyPreloadedImages),
            "NeverVerifyAllowlistedImages" => Ok(Self::NeverVerifyAllowlistedImages(
                Allowlist::new(allowlist)?,
            )),
            "AlwaysVerify" => Ok(Self::AlwaysVerify),
            other => Err(PolicyError::Name(other.to_owned())),
        }
    }

    /// Whether a pod has to show credentials for `image`. `pulled`: a kubelet brought it here, or may
    /// have.
    pub(super) fn verifies(&self, image: &str, pulled: bool) -> bool {
        match self {
            Self::NeverVerify => false,
            Self::NeverVerifyPreloadedImages => pulled,
            Self::NeverVerifyAllowlistedImages(list) => !list.has(image),
            Self::AlwaysVerify => true,
        }
    }
}

impl Allowlist {
    fn new(patterns: &[String]) -> Result<Self, PolicyError> {
        let mut list = Self::default();
        for pattern in patterns {
            let bad = |why| PolicyError::Pattern {
                pattern: pattern.clone(),
                why,
            };
            if pattern.trim() != pattern || pattern.is_empty() {
                return Err(bad("is empty or has blanks around it"));
            }
            match pattern
                .strip_suffix('*')
                .filter(|prefix| prefix.ends_with('/'))
            {
                Some("/") => return Err(bad("needs at least a registry")),
                Some(prefix) if !prefix.contains('*') => list.prefixes.push(prefix.to_owned()),
                None if !pattern.contains('*') => match ImageReference::parse(pattern) {
                    Ok(name) if name.written == *pattern => {
                        list.names.insert(pattern.clone());
                    }
                    Ok(_) => return Err(bad("must not have a tag or digest")),
                    Err(_) => return Err(bad("is no image name")),
                },
                _ => return Err(bad("may have a * only at its end, after a slash")),
            }
        }
        Ok(list)
    }

    fn has(&self, image: &str) -> bool {
        let read = ImageReference::parse(image);
        let name = read.as_ref().map_or(image, |read| &read.written);
        self.names.contains(name) || self.prefixes.iter().any(|prefix| name.starts_with(prefix))
    }
}

#[cfg(test)]
mod tests;
