//! The strategic merge patch that turns one Node object into another.

use k8s_openapi::api::core::v1::Node;
use serde_json::{Map, Value, json};

/// A patch of labels, annotations and status; `None` when they are the same. The rest of the object is
/// nothing that a node writes with its status.
pub(crate) fn between(old: &Node, new: &Node) -> Result<Option<Value>, serde_json::Error> {
    let (old, new) = (parts(old)?, parts(new)?);
    let mut patch = Map::new();
    for part in ["metadata", "status"] {
        let (old, new) = (old.get(part), new.get(part));
        let (Some(old), Some(new)) = (
            old.and_then(Value::as_object),
            new.and_then(Value::as_object),
        ) else {
            continue;
        };
        let changes = changes(old, new);
        if !changes.is_empty() {
            patch.insert(part.to_owned(), Value::Object(changes));
        }
    }
    Ok((!patch.is_empty()).then_some(Value::Object(patch)))
}

fn parts(node: &Node) -> Result<Value, serde_json::Error> {
    Ok(json!({
        "metadata": {
            "labels": serde_json::to_value(node.metadata.labels.clone().unwrap_or_default())?,
            "annotations": serde_json::to_value(node.metadata.annotations.clone().unwrap_or_default())?,
        },
        "status": serde_json::to_value(node.status.clone().unwrap_or_default())?,
    }))
}

/// Fields to set, and `null` for those to remove. Lists go whole, but for the two below.
fn changes(old: &Map<String, Value>, new: &Map<String, Value>) -> Map<String, Value> {
    let mut changes = Map::new();
    for (key, value) in new {
        match (old.get(key), value) {
            (Some(before), value) if before == value => {}
            (Some(Value::Object(before)), Value::Object(after)) => {
                changes.insert(key.clone(), Value::Object(self::changes(before, after)));
            }
            (before, Value::Array(after)) if key == "conditions" => {
                conditions(before, after, &mut changes);
            }
            (Some(_), Value::Array(after)) if key == "addresses" => {
                changes.insert(key.clone(), replaced(after));
            }
            (_, value) => {
                changes.insert(key.clone(), value.clone());
            }
        }
    }
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        changes.insert(key.clone(), Value::Null);
    }
    changes
}

/// The API merges conditions by their type, so that only changed ones are sent and those of others are
/// safe; their order is sent along.
fn conditions(before: Option<&Value>, after: &[Value], changes: &mut Map<String, Value>) {
    let before = before
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let changed = after.iter().filter(|condition| !before.contains(condition));
    let changed: Vec<Value> = changed.cloned().collect();
    let order = after
        .iter()
        .map(|condition| json!({ "type": condition["type"] }));
    changes.insert("$setElementOrder/conditions".to_owned(), order.collect());
    changes.insert("conditions".to_owned(), Value::Array(changed));
}

/// The API would merge addresses by their type too, which is wrong for two of one type: it is told to
/// replace them (Kubernetes 1.37).
fn replaced(addresses: &[Value]) -> Value {
    let directive = json!({ "$patch": "replace" });
    let addresses = addresses.iter().cloned();
    Value::Array(addresses.chain([directive]).collect())
}

#[cfg(test)]
mod tests;
