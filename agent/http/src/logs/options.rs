//! What somebody wants of a log, from the query of the request.
//!
//! Kubernetes 1.37: parameters of `PodLogOptions`; `tail` is an older name of `tailLines`. What cannot
//! be read is 400, what makes no sense is 422.

use jiff::{SignedDuration, Timestamp};

/// Streams that may be named; only `All` is served while `PodLogsQuerySplitStreams` is off, as it is
/// by default in Kubernetes 1.37.
const STREAMS: [&str; 3] = ["All", "Stdout", "Stderr"];

/// What is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogOptions {
    /// Go on with what is written later, until the container ends.
    pub(crate) follow: bool,
    /// The instance before.
    pub(crate) previous: bool,
    /// Each line begins with its time.
    pub(crate) timestamps: bool,
    /// So many lines from the end; `None`: all.
    pub(crate) tail: Option<u64>,
    /// So many bytes at most, at least 1.
    pub(crate) limit: Option<u64>,
    /// Only lines written then or later.
    pub(crate) since: Option<Timestamp>,
    /// One stream alone is asked for, by this name, which is not served.
    pub(crate) stream: Option<&'static str>,
}

/// Why there is nothing to be had for a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OptionsError {
    /// A value that is none.
    Unreadable,
    /// Values that are out of range or exclude each other.
    Invalid,
}

impl LogOptions {
    /// Reads the pairs of a query; of a name that comes twice the first counts. `now` is where
    /// `sinceSeconds` are counted from.
    pub(crate) fn parse(query: &[(String, String)], now: Timestamp) -> Result<Self, OptionsError> {
        let get = |name: &str| {
            let found = query.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value.as_str())
        };
        let tail = match get("tail").filter(|tail| !tail.is_empty()) {
            Some("all") => None,
            Some(tail) => Some(tail),
            None => get("tailLines"),
        };
        let (tail, limit) = (number(tail)?, number(get("limitBytes"))?);
        let seconds = number(get("sinceSeconds"))?;
        let time = time(get("sinceTime"))?;
        let stream = match get("stream") {
            None | Some("") => None,
            Some(name) => {
                let known = STREAMS.into_iter().find(|each| *each == name);
                Some(known.ok_or(OptionsError::Invalid)?).filter(|name| *name != "All")
            }
        };
        if stream.is_some() && tail.is_some() {
            return Err(OptionsError::Invalid);
        }
        Ok(Self {
            follow: is_set(get("follow")),
            previous: is_set(get("previous")),
            timestamps: is_set(get("timestamps")),
            tail: at_least(0, tail)?,
            limit: at_least(1, limit)?,
            since: since(at_least(1, seconds)?, time, now)?,
            stream,
        })
    }
}

/// Kubernetes 1.37: a bare name is true, and so is everything but `false` and `0`.
fn is_set(value: Option<&str>) -> bool {
    value.is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
}

fn number(value: Option<&str>) -> Result<Option<i64>, OptionsError> {
    let parse = |value: &str| value.parse().map_err(|_| OptionsError::Unreadable);
    value.map(parse).transpose()
}

fn time(value: Option<&str>) -> Result<Option<Timestamp>, OptionsError> {
    let parse = |value: &str| value.parse().map_err(|_| OptionsError::Unreadable);
    value
        .filter(|value| !value.is_empty())
        .map(parse)
        .transpose()
}

fn at_least(least: u64, value: Option<i64>) -> Result<Option<u64>, OptionsError> {
    let check = |value| {
        let value = u64::try_from(value).map_err(|_| OptionsError::Invalid)?;
        (value >= least)
            .then_some(value)
            .ok_or(OptionsError::Invalid)
    };
    value.map(check).transpose()
}

fn since(
    seconds: Option<u64>,
    time: Option<Timestamp>,
    now: Timestamp,
) -> Result<Option<Timestamp>, OptionsError> {
    match (seconds, time) {
        (Some(_), Some(_)) => Err(OptionsError::Invalid),
        // Before the beginning of time is as good as everything.
        (Some(seconds), None) => Ok(i64::try_from(seconds)
            .ok()
            .and_then(|seconds| now.checked_sub(SignedDuration::from_secs(seconds)).ok())),
        (None, time) => Ok(time),
    }
}

#[cfg(test)]
mod tests;
