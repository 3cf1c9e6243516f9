//! Docker's configuration of registries, the format of pull secrets and of the node's files.

use std::collections::BTreeMap;

use agent_loops::ports::{CredentialOrigin, PullCredential};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// User and password for one registry.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Login {
    pub(super) username: String,
    pub(super) password: String,
    pub(super) email: String,
}

/// Logins by registry, as written: with or without scheme, port and path.
pub(super) type Logins = BTreeMap<String, Login>;

/// It is not what it should be. Says nothing of the content, which is secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is no Docker configuration: not JSON, or not of the right form")]
pub(super) struct NotDocker;

/// `config.json`: logins under `auths`.
pub(super) fn config_json(bytes: &[u8]) -> Result<Logins, NotDocker> {
    #[derive(Deserialize)]
    struct File {
        auths: Option<BTreeMap<String, Value>>,
    }
    let file: File = serde_json::from_slice(bytes).map_err(|_| NotDocker)?;
    Ok(logins(file.auths.unwrap_or_default()))
}

/// `.dockercfg`: logins at the top.
pub(super) fn dockercfg(bytes: &[u8]) -> Result<Logins, NotDocker> {
    let entries: BTreeMap<String, Value> = serde_json::from_slice(bytes).map_err(|_| NotDocker)?;
    Ok(logins(entries))
}

/// An entry that cannot be read costs nobody the others.
fn logins(entries: BTreeMap<String, Value>) -> Logins {
    let read = |(registry, entry): (String, Value)| match login(entry) {
        Some(login) => Some((registry, login)),
        None => {
            tracing::warn!(registry, "a registry login cannot be read and is left out");
            None
        }
    };
    entries.into_iter().filter_map(read).collect()
}

fn login(entry: Value) -> Option<Login> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Entry {
        username: Option<String>,
        password: Option<String>,
        email: Option<String>,
        auth: Option<String>,
    }
    let entry: Entry = serde_json::from_value(Some(entry).filter(Value::is_object)?).ok()?;
    let mut login = Login {
        username: entry.username.unwrap_or_default(),
        password: entry.password.unwrap_or_default(),
        email: entry.email.unwrap_or_default(),
    };
    if let Some(auth) = entry.auth.filter(|auth| !auth.is_empty()) {
        (login.username, login.password) = user_and_password(&auth)?;
    }
    Some(login)
}

/// `auth` is base64 of `user:password`, with or without padding, and outranks the plain fields.
fn user_and_password(auth: &str) -> Option<(String, String)> {
    let auth = auth.trim();
    let decoded = if auth.ends_with('=') {
        STANDARD.decode(auth)
    } else {
        STANDARD_NO_PAD.decode(auth)
    };
    let text = String::from_utf8(decoded.ok()?).ok()?;
    let (user, password) = text.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}

/// The credential of a login.
pub(super) fn credential(login: &Login, origin: &CredentialOrigin) -> PullCredential {
    PullCredential {
        username: login.username.clone(),
        password: login.password.clone(),
        origin: origin.clone(),
        hash: hash(login),
        ..Default::default()
    }
}

/// SHA-256 in hex over the JSON of a login, as the stock kubelet records it, so that its records count
/// here and ours there. Empty fields are left out; its encoder escapes what HTML gives a meaning.
fn hash(login: &Login) -> String {
    #[derive(Serialize)]
    struct Json<'a> {
        #[serde(skip_serializing_if = "str::is_empty")]
        username: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        password: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        email: &'a str,
    }
    let json = Json {
        username: &login.username,
        password: &login.password,
        email: &login.email,
    };
    // Three strings always turn into JSON. Without a hash a record would match by name only.
    let Ok(mut text) = serde_json::to_string(&json) else {
        return String::new();
    };
    for (plain, escaped) in [
        ("<", "\\u003c"),
        (">", "\\u003e"),
        ("&", "\\u0026"),
        ("\u{2028}", "\\u2028"),
        ("\u{2029}", "\\u2029"),
    ] {
        text = text.replace(plain, escaped);
    }
    hex(&Sha256::digest(text))
}

/// Bytes in small hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
