//! `/healthz` and its parts on the kubelet's API.
//!
//! Kubernetes 1.37: `ping` and `log` always pass here, `syncloop` passes once pods are taken care of.
//! `exclude` leaves parts out, `verbose` tells of each.

use std::fmt::Write;

use axum::body::Body;
use http::{Response, StatusCode, Uri};

use crate::answer::{error, text};
use crate::query;
use crate::server::Server;

const CHECKS: [&str; 3] = ["ping", "log", "syncloop"];

/// All parts together.
pub(crate) fn all(server: &Server, uri: &Uri) -> Response<Body> {
    let query = query::pairs(uri);
    let (mut told, mut failed) = (String::new(), false);
    for name in CHECKS {
        let line = if query::values(&query, "exclude").any(|each| each == name) {
            format!("[+]{name} excluded: ok")
        } else if check(server, name).is_ok() {
            format!("[+]{name} ok")
        } else {
            failed = true;
            format!("[-]{name} failed: reason withheld")
        };
        let _ = writeln!(told, "{line}");
    }
    if failed {
        return error(
            StatusCode::INTERNAL_SERVER_ERROR,
            &format!("{told}healthz check failed"),
        );
    }
    let verbose = query::value(&query, "verbose").is_some();
    let passed = format!("{told}healthz check passed\n");
    text(
        StatusCode::OK,
        if verbose { passed } else { "ok".to_owned() },
    )
}

/// One part; `None` if there is none of that name.
pub(crate) fn one(server: &Server, name: &str) -> Option<Response<Body>> {
    let known = CHECKS.contains(&name);
    known.then(|| match check(server, name) {
        Ok(()) => text(StatusCode::OK, "ok"),
        Err(why) => {
            let body = format!("internal server error: {why}");
            error(StatusCode::INTERNAL_SERVER_ERROR, &body)
        }
    })
}

fn check(server: &Server, name: &str) -> Result<(), String> {
    match server.doors.readiness.pending().as_slice() {
        missing if name == "syncloop" && !missing.is_empty() => {
            Err(format!("waiting for: {}", missing.join(", ")))
        }
        _ => Ok(()),
    }
}
