//! Answers in plain text, as the stock kubelet gives its errors.

use axum::body::Body;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Response, StatusCode};

const NOSNIFF: HeaderName = HeaderName::from_static("x-content-type-options");

/// A text.
pub(crate) fn text(status: StatusCode, body: impl Into<String>) -> Response<Body> {
    typed(status, "text/plain; charset=utf-8", body.into())
}

/// A text with its end of line, the way Go's library writes errors.
pub(crate) fn error(status: StatusCode, body: &str) -> Response<Body> {
    text(status, format!("{body}\n"))
}

/// JSON that is rendered already.
pub(crate) fn json(body: impl Into<Body>) -> Response<Body> {
    typed(StatusCode::OK, "application/json", body)
}

/// An object as JSON.
pub(crate) fn object(value: &impl serde::Serialize) -> Response<Body> {
    match serde_json::to_vec(value) {
        Ok(body) => json(body),
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}

fn typed(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(NOSNIFF, HeaderValue::from_static("nosniff"));
    response
}
