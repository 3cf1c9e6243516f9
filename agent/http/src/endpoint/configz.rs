//! `/configz`: the configuration that is in effect.

use axum::body::Body;
use http::Response;
use serde_json::json;

use crate::answer::object;
use crate::server::Server;

pub(crate) fn configz(server: &Server) -> Response<Body> {
    object(&json!({ "kubeletconfig": server.settings.configuration }))
}
