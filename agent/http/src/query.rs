//! Parameters of a request.

use axum::extract::Query;
use http::Uri;

/// All pairs, decoded, in the order they came. What cannot be decoded counts as no parameters.
pub(crate) fn pairs(uri: &Uri) -> Vec<(String, String)> {
    Query::<Vec<(String, String)>>::try_from_uri(uri)
        .map_or_else(|_| Vec::new(), |Query(pairs)| pairs)
}

/// The first value of a parameter.
pub(crate) fn value<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    values(pairs, name).next()
}

/// All values of a parameter.
pub(crate) fn values<'a>(
    pairs: &'a [(String, String)],
    name: &str,
) -> impl Iterator<Item = &'a str> {
    pairs
        .iter()
        .filter(move |(key, _)| key == name)
        .map(|(_, value)| value.as_str())
}
