//! A strategic merge patch between two statuses.
//!
//! Lists that the API merges by a key are sent as the entries that changed, so that a condition which
//! somebody else writes at the same time is not lost.

use k8s_openapi::api::core::v1::PodStatus;
use serde_json::{Map, Value, json};

/// Lists of a pod's status that are merged, with the key of their entries (Kubernetes 1.37). All
/// other lists are replaced as a whole.
const MERGED: [(&str, &str); 3] = [("conditions", "type"), ("hostIPs", "ip"), ("podIPs", "ip")];

/// The patch that turns the status `old` of the pod with this UID into `new`; `None` when there is
/// nothing to turn. The UID in it is a precondition: another pod of the same name is not touched.
pub(super) fn between(
    uid: &str,
    old: &PodStatus,
    new: &PodStatus,
) -> serde_json::Result<Option<Value>> {
    let (old, new) = (serde_json::to_value(old)?, serde_json::to_value(new)?);
    let (Value::Object(old), Value::Object(new)) = (old, new) else {
        return Ok(None);
    };
    let changes = object(&old, &new, true);
    Ok((!changes.is_empty()).then(|| json!({"metadata": {"uid": uid}, "status": changes})))
}

/// Changes between two objects; `null` removes a field.
fn object(old: &Map<String, Value>, new: &Map<String, Value>, top: bool) -> Map<String, Value> {
    let mut changes = Map::new();
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        changes.insert(name.clone(), Value::Null);
    }
    for (name, value) in new {
        let before = old.get(name);
        if before == Some(value) {
            continue;
        }
        let key = MERGED.iter().find(|(list, _)| top && list == name);
        match (before, value, key) {
            (Some(Value::Object(before)), Value::Object(value), _) => {
                changes.insert(name.clone(), Value::Object(object(before, value, false)));
            }
            (Some(Value::Array(before)), Value::Array(value), Some((_, key))) => {
                list(&mut changes, name, key, (before, value));
            }
            _ => {
                changes.insert(name.clone(), value.clone());
            }
        }
    }
    changes
}

/// Changes of a merged list, and the order that it is to have.
fn list(changes: &mut Map<String, Value>, name: &str, key: &str, lists: (&[Value], &[Value])) {
    let (old, new) = lists;
    let find = |list: &[Value], entry: &Value| {
        let mut entries = list.iter();
        entries
            .find(|other| other.get(key) == entry.get(key))
            .cloned()
    };
    let mut entries = Vec::new();
    for entry in new {
        match (find(old, entry), entry) {
            (Some(before), entry) if before == *entry => {}
            (Some(Value::Object(before)), Value::Object(after)) => {
                let mut change = object(&before, after, false);
                change.extend(
                    after
                        .get_key_value(key)
                        .map(|(key, value)| (key.clone(), value.clone())),
                );
                entries.push(Value::Object(change));
            }
            (_, entry) => entries.push(entry.clone()),
        }
    }
    for entry in old.iter().filter(|entry| find(new, entry).is_none()) {
        entries.push(json!({"$patch": "delete", key: entry.get(key)}));
    }
    let order = new.iter().map(|entry| json!({key: entry.get(key)}));
    changes.insert(format!("$setElementOrder/{name}"), order.collect());
    if !entries.is_empty() {
        changes.insert(name.to_owned(), Value::Array(entries));
    }
}

#[cfg(test)]
mod tests;
