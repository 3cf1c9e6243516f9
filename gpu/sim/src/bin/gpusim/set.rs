//! Setting any value by its path.

use nvidia_ml::{Gpu, Node, State};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::arguments::Set;
use crate::failure::Failure;
use crate::{target, units};

/// Groups that have one value people mean when they name the group.
const SHORT: &[(&str, &str)] = &[
    ("temperature", "temperature.gpu"),
    ("power", "power.usage"),
    ("utilization", "utilization.gpu"),
    ("memory", "memory.used"),
    ("ecc", "ecc.current"),
];

/// Sets a value of GPUs or of the node.
pub(crate) fn set(state: &mut State, options: &Set) -> Result<String, Failure> {
    let short = SHORT.iter().find(|(short, _)| *short == options.path);
    let path = short.map_or(options.path.as_str(), |(_, path)| path);
    let report = |of: &str| format!("{of}: {path} = {}", options.value);
    if options.gpu == "node" {
        let node: Node = with_value(&state.node, "node", path, &options.value)?;
        state.node = node;
        return Ok(report("node"));
    }
    let gpus = target::change(state, &options.gpu, |gpu| {
        let of = format!("GPU {}", gpu.minor);
        let changed: Gpu = with_value(gpu, &of, path, &options.value)?;
        *gpu = changed;
        Ok(())
    })?;
    Ok(report(&gpus))
}

/// A copy with one value changed.
fn with_value<T: Serialize + DeserializeOwned>(
    original: &T,
    of: &str,
    path: &str,
    value: &str,
) -> Result<T, Failure> {
    let wrong = |message: String| Failure::Set {
        of: of.to_owned(),
        path: path.to_owned(),
        message,
    };
    let mut document = serde_json::to_value(original)?;
    let place = place(&mut document, path).map_err(wrong)?;
    *place = read(place, value);
    serde_json::from_value(document).map_err(|error| wrong(error.to_string()))
}

/// The value at a path of keys and list positions. A key that is not there yet is made; whether the
/// document may have it shows when it is read back.
fn place<'a>(document: &'a mut Value, path: &str) -> Result<&'a mut Value, String> {
    path.split('.').try_fold(document, |value, key| {
        if value.is_null() {
            *value = Value::Object(serde_json::Map::new());
        }
        match value {
            Value::Object(object) => Ok(object.entry(key).or_insert(Value::Null)),
            Value::Array(list) => {
                let length = list.len();
                let position = key.parse::<usize>().ok();
                let found = position.and_then(|position| list.get_mut(position));
                found.ok_or_else(|| format!("{key} is no position in a list of {length}"))
            }
            _ => Err(format!("there is nothing below it, so no {key}")),
        }
    })
}

/// Text stays text; everything else is JSON, a number in hexadecimal, or a size with a unit.
fn read(old: &Value, text: &str) -> Value {
    if old.is_string() {
        return Value::from(text);
    }
    let hexadecimal = text
        .strip_prefix("0x")
        .and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let json = || serde_json::from_str(text).ok();
    let size = || units::size(text).ok().map(Value::from);
    hexadecimal
        .map(Value::from)
        .or_else(json)
        .or_else(size)
        .unwrap_or_else(|| Value::from(text))
}

#[cfg(test)]
mod tests;
