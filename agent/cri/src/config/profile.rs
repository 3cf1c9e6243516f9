//! Seccomp and AppArmor profiles, SELinux labels.

use k8s_openapi::api::core::v1::{AppArmorProfile, Container, SELinuxOptions, SeccompProfile};
use proto::cri::security_profile::ProfileType;
use proto::cri::{SeLinuxOption, SecurityProfile};

use super::error::ConfigError;
use super::input::PodInput;
use crate::labels;

const PROFILE_TYPES: &str = "RuntimeDefault, Unconfined and Localhost";

/// Seccomp profile of a container: its own, else the pod's, else by `seccompDefault`.
pub(crate) fn seccomp(
    pod: &PodInput<'_>,
    container: &Container,
) -> Result<SecurityProfile, ConfigError> {
    let own = container
        .security_context
        .as_ref()
        .and_then(|own| own.seccomp_profile.as_ref());
    let of_pod = pod
        .security()
        .and_then(|context| context.seccomp_profile.as_ref());
    match own.or(of_pod) {
        Some(profile) => seccomp_profile(pod, profile),
        None if pod.node.seccomp_default => Ok(plain(ProfileType::RuntimeDefault)),
        None => Ok(plain(ProfileType::Unconfined)),
    }
}

fn seccomp_profile(
    pod: &PodInput<'_>,
    profile: &SeccompProfile,
) -> Result<SecurityProfile, ConfigError> {
    const FIELD: &str = "seccompProfile";
    let file = profile
        .localhost_profile
        .as_deref()
        .filter(|file| !file.is_empty());
    match (profile.type_.as_str(), file) {
        ("RuntimeDefault", _) => Ok(plain(ProfileType::RuntimeDefault)),
        ("Unconfined", _) => Ok(plain(ProfileType::Unconfined)),
        ("Localhost", None) => Err(ConfigError::NoLocalhostProfile { field: FIELD }),
        // The API refuses such a path; a manifest from a file never passed the API.
        ("Localhost", Some(file))
            if file.starts_with('/') || file.split('/').any(|p| p == "..") =>
        {
            Err(ConfigError::Value {
                field: "seccompProfile.localhostProfile",
                value: file.to_owned(),
                allowed: "paths below the node's seccomp folder",
            })
        }
        ("Localhost", Some(file)) => Ok(SecurityProfile {
            profile_type: ProfileType::Localhost.into(),
            localhost_ref: pod
                .node
                .seccomp_root
                .join(file)
                .to_string_lossy()
                .into_owned(),
        }),
        (other, _) => Err(unknown(FIELD, other)),
    }
}

/// AppArmor profile of a container: its own, else by annotation, else the pod's. `None` leaves it to
/// the runtime.
pub(crate) fn apparmor(
    pod: &PodInput<'_>,
    container: &Container,
) -> Result<Option<SecurityProfile>, ConfigError> {
    let own = container
        .security_context
        .as_ref()
        .and_then(|own| own.app_armor_profile.as_ref());
    if let Some(own) = own {
        return apparmor_profile(own).map(Some);
    }
    match labels::apparmor(pod.metadata, &container.name) {
        Some("runtime/default") => return Ok(Some(plain(ProfileType::RuntimeDefault))),
        Some("unconfined") => return Ok(Some(plain(ProfileType::Unconfined))),
        Some(text) => {
            if let Some(name) = text.strip_prefix("localhost/") {
                return Ok(Some(localhost(name)));
            }
        }
        None => {}
    }
    let of_pod = pod
        .security()
        .and_then(|context| context.app_armor_profile.as_ref());
    of_pod.map(apparmor_profile).transpose()
}

fn apparmor_profile(profile: &AppArmorProfile) -> Result<SecurityProfile, ConfigError> {
    const FIELD: &str = "appArmorProfile";
    match (profile.type_.as_str(), &profile.localhost_profile) {
        ("RuntimeDefault", _) => Ok(plain(ProfileType::RuntimeDefault)),
        ("Unconfined", _) => Ok(plain(ProfileType::Unconfined)),
        ("Localhost", Some(name)) if !name.is_empty() => Ok(localhost(name)),
        ("Localhost", _) => Err(ConfigError::NoLocalhostProfile { field: FIELD }),
        (other, _) => Err(unknown(FIELD, other)),
    }
}

pub(crate) fn selinux(options: &SELinuxOptions) -> SeLinuxOption {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    SeLinuxOption {
        user: text(&options.user),
        role: text(&options.role),
        r#type: text(&options.type_),
        level: text(&options.level),
    }
}

/// A profile that needs no name.
pub(crate) fn plain(profile_type: ProfileType) -> SecurityProfile {
    SecurityProfile {
        profile_type: profile_type.into(),
        localhost_ref: String::new(),
    }
}

fn localhost(name: &str) -> SecurityProfile {
    SecurityProfile {
        profile_type: ProfileType::Localhost.into(),
        localhost_ref: name.to_owned(),
    }
}

fn unknown(field: &'static str, value: &str) -> ConfigError {
    ConfigError::Value {
        field,
        value: value.to_owned(),
        allowed: PROFILE_TYPES,
    }
}

#[cfg(test)]
mod tests;
