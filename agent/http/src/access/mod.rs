//! Who asks, and whether they may: in front of every request, whatever its path.

mod authority;
mod authorize;
mod certificate;

use agent_loops::ports::Identity;
use axum::body::Body;
use base_daemon::Chain;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Request, Response, StatusCode};

pub(crate) use authority::{AnyClient, ClientAuthority};

use crate::answer::text;
use crate::server::{Caller, Server};

/// Lets a request in, or says the answer to it.
pub(crate) async fn admit<B>(
    server: &Server,
    caller: &Caller,
    request: &Request<B>,
) -> Result<Identity, Response<Body>> {
    let who = authenticate(server, caller, request.headers()).await;
    let who = who.ok_or_else(|| text(StatusCode::UNAUTHORIZED, "Unauthorized"))?;
    authorize::authorize(server, &who, request.method(), request.uri().path()).await?;
    Ok(who)
}

/// Kubernetes 1.37: a certificate comes first, then a token. One that is shown and not valid is never
/// taken for nobody in particular.
async fn authenticate(server: &Server, caller: &Caller, headers: &HeaderMap) -> Option<Identity> {
    let certified = server
        .authority
        .as_ref()
        .map(|authority| authority.identify(&caller.certificates));
    let certified = match certified {
        Some(Ok(Some(who))) => return Some(authenticated(who)),
        Some(Ok(None)) | None => true,
        Some(Err(error)) => {
            tracing::debug!(address = %caller.address, "a client certificate is not accepted: {}", Chain(&error));
            false
        }
    };
    match bearer(headers) {
        Some(token) if server.settings.token_review => {
            review(server, caller, token).await.map(authenticated)
        }
        _ => (certified && server.settings.anonymous).then(anonymous),
    }
}

async fn review(server: &Server, caller: &Caller, token: &str) -> Option<Identity> {
    match server.doors.access.as_ref()?.authenticate(token).await {
        Ok(who) => who,
        Err(fail) => {
            tracing::warn!(address = %caller.address, error = %fail, "a token could not be reviewed");
            None
        }
    }
}

/// The token of an `Authorization` header.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?.trim();
    let (scheme, rest) = value.split_once(' ')?;
    let token = rest.split(' ').next()?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

fn authenticated(mut who: Identity) -> Identity {
    let group = "system:authenticated";
    if !who.groups.iter().any(|each| each == group) {
        who.groups.push(group.to_owned());
    }
    who
}

fn anonymous() -> Identity {
    Identity {
        name: "system:anonymous".to_owned(),
        groups: vec!["system:unauthenticated".to_owned()],
        ..Identity::default()
    }
}

#[cfg(test)]
mod tests;
