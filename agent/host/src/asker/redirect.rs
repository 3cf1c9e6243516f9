//! Where a redirect leads.

use http::Uri;

/// What one request goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) tls: bool,
    /// Without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    /// With query, beginning with a slash.
    pub(super) path: String,
}

/// The target that `location` names, seen from `from`. `None`: it cannot be read.
pub(super) fn follow(from: &Target, location: &str) -> Option<Target> {
    // A fragment is for browsers.
    let location = location.split('#').next().unwrap_or_default();
    if let Some(rest) = location.strip_prefix("//") {
        let scheme = if from.tls { "https" } else { "http" };
        return absolute(&format!("{scheme}://{rest}"));
    }
    if location.contains("://") {
        return absolute(location);
    }
    let path = match location.chars().next() {
        Some('/') => location.to_owned(),
        Some('?') => format!("{}{location}", path_only(&from.path)),
        Some(_) => {
            let folder = path_only(&from.path)
                .rsplit_once('/')
                .map_or("", |(folder, _)| folder);
            format!("{folder}/{location}")
        }
        None => from.path.clone(),
    };
    Some(Target {
        path,
        ..from.clone()
    })
}

fn absolute(url: &str) -> Option<Target> {
    let uri: Uri = url.parse().ok()?;
    let tls = match uri.scheme_str()? {
        "http" => false,
        "https" => true,
        _ => return None,
    };
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    Some(Target {
        tls,
        host: super::bare(uri.host()?).to_owned(),
        port: uri.port_u16().unwrap_or(if tls { 443 } else { 80 }),
        path: if path.is_empty() {
            "/".to_owned()
        } else {
            path.to_owned()
        },
    })
}

fn path_only(path: &str) -> &str {
    path.split('?').next().unwrap_or_default()
}
