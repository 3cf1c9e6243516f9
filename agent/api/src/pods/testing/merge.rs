//! What the API server does with a patch.

use serde_json::Value;

/// JSON merge with the lists that Kubernetes merges by key.
pub(super) fn merge(to: &mut Value, from: &Value) {
    let (Value::Object(to), Value::Object(from)) = (&mut *to, from) else {
        *to = from.clone();
        return;
    };
    for (key, value) in from {
        let by = match key.as_str() {
            "conditions" => "type",
            "podIPs" | "hostIPs" => "ip",
            _ => "",
        };
        match (to.get_mut(key), value) {
            _ if key.starts_with("$setElementOrder/") => {}
            (_, Value::Null) => drop(to.remove(key)),
            (Some(Value::Array(list)), Value::Array(entries)) if !by.is_empty() => {
                merge_list(list, entries, by);
            }
            (Some(old @ Value::Object(_)), Value::Object(_)) => merge(old, value),
            _ => drop(to.insert(key.clone(), value.clone())),
        }
    }
    for (key, order) in from {
        let list = key
            .strip_prefix("$setElementOrder/")
            .and_then(|list| to.get_mut(list));
        if let (Some(Value::Array(list)), Value::Array(order)) = (list, order) {
            let place = |entry: &Value| {
                let same = |place: &Value| {
                    let place = place.as_object().unwrap();
                    place
                        .iter()
                        .all(|(key, value)| entry.get(key) == Some(value))
                };
                order.iter().position(same)
            };
            list.sort_by_key(place);
        }
    }
}

fn merge_list(list: &mut Vec<Value>, entries: &[Value], by: &str) {
    for entry in entries {
        let at = list.iter().position(|old| old.get(by) == entry.get(by));
        match at {
            Some(at) if entry.get("$patch").is_some() => drop(list.remove(at)),
            Some(at) => merge(&mut list[at], entry),
            None => list.push(entry.clone()),
        }
    }
}
