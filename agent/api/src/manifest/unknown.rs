//! Fields of a manifest that the API does not have: what is written and does not come back.

use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;

/// More than these are not listed: a manifest that is wrong throughout is told by its first ones.
const LISTED: usize = 8;

/// Ways to the fields of `written` that `pod` does not have.
pub(super) fn fields(written: &Value, pod: &Pod) -> Vec<String> {
    let mut unknown = Vec::new();
    if let Ok(read) = serde_json::to_value(pod) {
        compare(written, &read, "", &mut unknown);
    }
    unknown.truncate(LISTED);
    unknown
}

fn compare(written: &Value, read: &Value, path: &str, unknown: &mut Vec<String>) {
    match (written, read) {
        (Value::Object(written), Value::Object(read)) => {
            for (key, value) in written.iter().filter(|(_, value)| !value.is_null()) {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                match read.get(key) {
                    Some(read) => compare(value, read, &path, unknown),
                    None => unknown.push(path),
                }
            }
        }
        (Value::Array(written), Value::Array(read)) => {
            for (at, (written, read)) in written.iter().zip(read).enumerate() {
                compare(written, read, &format!("{path}[{at}]"), unknown);
            }
        }
        _ => {}
    }
}
