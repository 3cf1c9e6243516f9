//! What a failed call to the API server means: whether to try again, and what an operator should look at.

use std::error::Error;
use std::time::Duration;

use agent_core::{Fail, FailKind};
use kube::core::Status;

/// What to make of a failed call. `call` says what was tried and on what, as the beginning of a
/// sentence: "get secret default/key". The message never holds a token: neither does a `kube::Error`.
///
/// `Gone` is only 404. An answer "forbidden" or "unauthorized" is to be tried again: the node authorizer
/// learns a little late which pods are bound to the node, and certificates are replaced.
pub fn api_fail(error: &kube::Error, call: &str) -> Fail {
    match error {
        kube::Error::Api(status) => refused(status, call),
        kube::Error::BuildRequest(_) | kube::Error::HttpError(_) => Fail::permanent(
            "InvalidRequest",
            format!(
                "{call}: the request cannot be written, probably because of a name that is not allowed: {error}"
            ),
        ),
        kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => Fail::retry(
            "UnexpectedAnswer",
            format!(
                "{call}: the answer is none of an API server ({error}); check the server address of the \
                 kubeconfig and the proxy in between"
            ),
        ),
        kube::Error::Auth(_) => Fail::retry(
            "Unauthorized",
            format!(
                "{call}: the kubeconfig's token file or credential plugin gives no credential: {error}"
            ),
        ),
        _ => unreachable(error, call),
    }
}

/// How long the API server asks to wait before the next try. `None`: it does not say.
pub fn retry_after(error: &kube::Error) -> Option<Duration> {
    let kube::Error::Api(status) = error else {
        return None;
    };
    let seconds = status.details.as_ref()?.retry_after_seconds;
    (seconds > 0).then(|| Duration::from_secs(seconds.into()))
}

/// Rows: HTTP code, reason, kind, what to do.
const ANSWERS: &[(u16, &str, FailKind, &str)] = &[
    (400, "BadRequest", FailKind::Permanent, ""),
    (
        401,
        "Unauthorized",
        FailKind::Retry,
        "the node's certificate or token is not accepted, see the log for its renewal",
    ),
    (
        403,
        "Forbidden",
        FailKind::Retry,
        "the node has no permission (yet); check that it is named as in its certificate and that the \
         authorization modes Node and RBAC are on",
    ),
    (404, "NotFound", FailKind::Gone, ""),
    (405, "MethodNotAllowed", FailKind::Permanent, ""),
    (406, "NotAcceptable", FailKind::Permanent, ""),
    (408, "Timeout", FailKind::Retry, "the API server is slow"),
    // Conflict: read again, then write again. An existing object needs a person or another call.
    (409, "Conflict", FailKind::Retry, ""),
    // An old resource version: list again.
    (410, "Expired", FailKind::Retry, ""),
    (413, "RequestEntityTooLarge", FailKind::Permanent, ""),
    (415, "UnsupportedMediaType", FailKind::Permanent, ""),
    (422, "Invalid", FailKind::Permanent, ""),
    (
        429,
        "TooManyRequests",
        FailKind::Retry,
        "the API server is overloaded or a disruption budget forbids it",
    ),
    (
        500,
        "InternalError",
        FailKind::Retry,
        "see the API server's log",
    ),
    (
        503,
        "ServiceUnavailable",
        FailKind::Retry,
        "the API server or what it needs is down",
    ),
    (
        504,
        "ServerTimeout",
        FailKind::Retry,
        "the API server or etcd is slow",
    ),
];

fn refused(status: &Status, call: &str) -> Fail {
    let known = ANSWERS.iter().find(|(code, ..)| *code == status.code);
    let (reason, kind, advice) = match known {
        Some((409, ..)) if status.reason == "AlreadyExists" => {
            ("AlreadyExists", FailKind::Permanent, "")
        }
        Some((_, reason, kind, advice)) => (*reason, *kind, *advice),
        None if status.code >= 500 => {
            ("InternalError", FailKind::Retry, "see the API server's log")
        }
        None => ("UnexpectedAnswer", FailKind::Permanent, ""),
    };
    let text = match (status.message.as_str(), status.reason.as_str()) {
        ("", "") => format!("HTTP {}", status.code),
        ("", reason) => reason.to_owned(),
        (message, _) => message.to_owned(),
    };
    let message = match advice {
        "" => format!("{call}: {text}"),
        advice => format!("{call}: {text}; {advice}"),
    };
    Fail {
        kind,
        reason,
        message,
        image: None,
    }
}

/// The connection failed, or broke.
fn unreachable(error: &kube::Error, call: &str) -> Fail {
    let mut innermost: &(dyn Error + 'static) = error;
    let mut certificate = false;
    let mut identity = false;
    while let Some(source) = innermost.source().or_else(|| within(innermost)) {
        innermost = source;
        match innermost.downcast_ref() {
            Some(rustls::Error::InvalidCertificate(_)) => certificate = true,
            Some(rustls::Error::AlertReceived(_)) => identity = true,
            _ => {}
        }
    }
    let advice = if certificate {
        "the server's certificate is not that of the cluster; check certificate-authority and \
         tls-server-name of the kubeconfig"
    } else if identity {
        "the server ended the TLS handshake; check the node's client certificate"
    } else {
        "check that the API server runs and that the server address of the kubeconfig can be reached"
    };
    Fail::retry(
        "APIServerUnreachable",
        format!("{call}: {innermost}; {advice}"),
    )
}

/// An I/O error hides what it carries from `source`.
fn within<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let inner = error.downcast_ref::<std::io::Error>()?.get_ref()?;
    Some(inner)
}

#[cfg(test)]
mod tests;
