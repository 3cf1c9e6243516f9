//! Whether somebody may do what they ask for.

use agent_loops::ports::{AccessAsk, Identity};
use axum::body::Body;
use http::{Method, Response, StatusCode};

use crate::answer::text;
use crate::server::{AccessMode, Server};

/// Paths with a subresource of their own, which they share with all below them. Kubernetes 1.37: where
/// `proxy` stands too, it is asked second; what is not in the table is `proxy` alone.
const PATHS: [(&str, &[&str]); 11] = [
    ("/allocatedPods", &["pods", "proxy"]),
    ("/pods", &["pods", "proxy"]),
    ("/healthz", &["healthz", "proxy"]),
    ("/configz", &["configz", "proxy"]),
    ("/runningpods", &["pods", "proxy"]),
    ("/stats", &["stats"]),
    ("/metrics", &["metrics"]),
    ("/logs", &["log"]),
    ("/checkpoint", &["checkpoint"]),
    ("/statusz", &["statusz"]),
    ("/flagz", &["configz"]),
];

/// Asks the control plane, unless everything is allowed.
pub(super) async fn authorize(
    server: &Server,
    who: &Identity,
    method: &Method,
    path: &str,
) -> Result<(), Response<Body>> {
    if server.settings.authorization == AccessMode::AlwaysAllow {
        return Ok(());
    }
    let (verb, subresources) = (verb(method), subresources(path));
    for subresource in subresources {
        let ask = AccessAsk { verb, subresource };
        let answer = match &server.doors.access {
            Some(access) => access.authorize(who, &ask).await,
            None => Ok(false),
        };
        match answer {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(fail) => {
                tracing::warn!(user = who.name, verb, subresource, error = %fail, "access could not be reviewed");
                let body = format!(
                    "Authorization error (user={}, verb={verb}, resource=nodes, subresource={subresource})",
                    who.name
                );
                return Err(text(StatusCode::INTERNAL_SERVER_ERROR, body));
            }
        }
    }
    let body = format!(
        "Forbidden (user={}, verb={verb}, resource=nodes, subresource(s)=[{}])\n",
        who.name,
        subresources.join(" ")
    );
    tracing::debug!(user = who.name, verb, ?subresources, "forbidden");
    Err(text(StatusCode::FORBIDDEN, body))
}

/// Kubernetes 1.37: any other method has an empty verb.
fn verb(method: &Method) -> &'static str {
    match method.as_str() {
        "POST" => "create",
        "GET" => "get",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" => "delete",
        _ => "",
    }
}

/// The path is taken as it was sent, as the routes take it: there is no second reading of it.
fn subresources(path: &str) -> &'static [&'static str] {
    let covers = |top: &str| {
        let rest = path.strip_prefix(top);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let found = PATHS.iter().find(|(top, _)| covers(top));
    found.map_or(&["proxy"], |(_, subresources)| subresources)
}

#[cfg(test)]
mod tests;
