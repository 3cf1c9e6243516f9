//! The objects and their watches.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{Asked, failure};

/// Events that a watch may be behind.
const BEHIND: usize = 256;

#[derive(Default)]
pub(super) struct Store {
    version: u64,
    /// By collection and name.
    objects: BTreeMap<(String, String), Value>,
    watches: Vec<Watch>,
}

struct Watch {
    path: String,
    fields: Vec<(String, String)>,
    events: mpsc::Sender<String>,
}

impl Store {
    pub(super) fn put(&mut self, collection: &str, mut object: Value) {
        self.version += 1;
        let name = object["metadata"]["name"]
            .as_str()
            .expect("a name")
            .to_owned();
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        if let Some(namespace) = namespace(collection) {
            object["metadata"]["namespace"] = json!(namespace);
        }
        let key = (collection.to_owned(), name);
        let kind = match self.objects.insert(key, object.clone()) {
            Some(_) => "MODIFIED",
            None => "ADDED",
        };
        self.tell(collection, kind, &object);
    }

    pub(super) fn remove(&mut self, collection: &str, name: &str) {
        self.version += 1;
        let key = (collection.to_owned(), name.to_owned());
        if let Some(mut object) = self.objects.remove(&key) {
            object["metadata"]["resourceVersion"] = json!(self.version.to_string());
            self.tell(collection, "DELETED", &object);
        }
    }

    fn tell(&mut self, collection: &str, kind: &str, object: &Value) {
        let line = format!("{}\n", json!({"type": kind, "object": object}));
        for watch in &self.watches {
            if within(collection, &watch.path) && matches(object, &watch.fields) {
                let _ = watch.events.try_send(line.clone());
            }
        }
    }

    /// A list or one object.
    pub(super) fn get(&self, asked: &Asked) -> (u16, Value) {
        let (collection, name) = asked.path.rsplit_once('/').unwrap_or_default();
        let key = (collection.to_owned(), name.to_owned());
        if let Some(object) = self.objects.get(&key) {
            return (200, object.clone());
        }
        // Names of collections are plural; what else is asked for is an object that is not there.
        if !name.ends_with('s') || asked.query.is_empty() {
            let kind = collection.rsplit('/').next().unwrap_or_default();
            return (404, failure(404, &format!("{kind} {name:?} not found")));
        }
        let fields = fields(&asked.query);
        let objects = self.objects.iter();
        let items: Vec<_> = objects
            .filter(|((collection, _), _)| within(collection, &asked.path))
            .map(|(_, object)| object)
            .filter(|object| matches(object, &fields))
            .collect();
        let version = self.version.to_string();
        let list = json!({
            "kind": "List", "apiVersion": "v1",
            "metadata": {"resourceVersion": version}, "items": items,
        });
        (200, list)
    }

    /// Events from the version that is asked for.
    pub(super) fn watch(&mut self, asked: &Asked) -> mpsc::Receiver<String> {
        let (events, receiver) = mpsc::channel(BEHIND);
        let watch = Watch {
            path: asked.path.clone(),
            fields: fields(&asked.query),
            events,
        };
        let since = parameter(&asked.query, "resourceVersion").and_then(|it| it.parse().ok());
        let since: u64 = since.unwrap_or(0);
        for ((collection, _), object) in &self.objects {
            let version = object["metadata"]["resourceVersion"].as_str();
            let version: u64 = version.and_then(|it| it.parse().ok()).unwrap_or(0);
            if version > since && within(collection, &watch.path) && matches(object, &watch.fields)
            {
                let line = format!("{}\n", json!({"type": "MODIFIED", "object": object}));
                let _ = watch.events.try_send(line);
            }
        }
        self.watches.push(watch);
        receiver
    }

    pub(super) fn break_watches(&mut self) {
        self.watches.clear();
    }

    pub(super) fn open_watches(&mut self) -> usize {
        self.watches.retain(|watch| !watch.events.is_closed());
        self.watches.len()
    }
}

/// Whether a collection is the asked one, or one namespace's part of it.
fn within(collection: &str, asked: &str) -> bool {
    if collection == asked {
        return true;
    }
    let Some(namespace) = namespace(collection) else {
        return false;
    };
    collection.replace(&format!("namespaces/{namespace}/"), "") == asked
}

fn namespace(collection: &str) -> Option<&str> {
    let (_, rest) = collection.split_once("/namespaces/")?;
    rest.split('/').next()
}

fn matches(object: &Value, fields: &[(String, String)]) -> bool {
    fields.iter().all(|(path, wanted)| {
        let mut at = object;
        for part in path.split('.') {
            at = &at[part];
        }
        at.as_str().unwrap_or_default() == wanted
    })
}

/// The terms of a field selector.
fn fields(query: &str) -> Vec<(String, String)> {
    let selector = parameter(query, "fieldSelector").unwrap_or_default();
    let terms = selector.split(',').filter_map(|term| term.split_once('='));
    terms
        .map(|(path, value)| (path.to_owned(), value.to_owned()))
        .collect()
}

fn parameter(query: &str, name: &str) -> Option<String> {
    let mut pairs = query
        .split(['&', '?'])
        .filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(key, _)| *key == name)?;
    Some(
        value
            .replace("%3D", "=")
            .replace("%2C", ",")
            .replace("%2F", "/"),
    )
}
