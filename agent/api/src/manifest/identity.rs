//! Who a pod from a file is: UID, name, node, and the marks of its source.

use k8s_openapi::api::core::v1::{Pod, Toleration};
use serde_json::Value;

use super::Origin;

/// UID of a manifest that has none: FNV-1a (128 bit) in hex over its content, then `host:<node>` and
/// `file:<path>`, so that the same file on another node or in another place is another pod.
///
/// The stock kubelet hashes its in-memory form of the pod, which no other program can reproduce.
/// Here the content counts as it is written, without order of keys, layout and comments: neither a
/// new version of the agent nor a reformatted file restarts a pod.
pub(super) fn generated_uid(manifest: &Value, origin: Origin<'_>) -> String {
    let mut hash = Fnv128::new();
    hash.value(manifest);
    hash.bytes(format!("host:{}file:{}", origin.node, origin.path.display()).as_bytes());
    format!("{:032x}", hash.0)
}

/// Names the pod as the stock kubelet names a file pod of `node`.
pub(super) fn give(pod: &mut Pod, generated_uid: String, node: &str) {
    let metadata = &mut pod.metadata;
    let uid = metadata
        .uid
        .take()
        .filter(|uid| !uid.is_empty())
        .unwrap_or(generated_uid);
    let name = metadata.name.take().unwrap_or_default();
    metadata.name = Some(format!("{name}-{}", node.to_lowercase()));
    let namespace = metadata
        .namespace
        .take()
        .filter(|namespace| !namespace.is_empty());
    metadata.namespace = Some(namespace.unwrap_or_else(|| "default".to_owned()));
    let marks = [
        ("kubernetes.io/config.hash", uid.clone()),
        ("kubernetes.io/config.source", "file".to_owned()),
        (
            "kubernetes.io/config.seen",
            jiff::Timestamp::now().to_string(),
        ),
    ];
    let annotations = metadata.annotations.get_or_insert_default();
    annotations.extend(marks.map(|(key, value)| (key.to_owned(), value)));
    metadata.uid = Some(uid);
    if let Some(spec) = &mut pod.spec {
        spec.node_name = Some(node.to_owned());
        // Static pods belong to the node: nothing that is wrong with it evicts them.
        let toleration = Toleration {
            operator: Some("Exists".to_owned()),
            effect: Some("NoExecute".to_owned()),
            ..Toleration::default()
        };
        let tolerations = spec.tolerations.get_or_insert_default();
        if !tolerations.contains(&toleration) {
            tolerations.push(toleration);
        }
    }
}

struct Fnv128(u128);

impl Fnv128 {
    fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u128::from(*byte))
                .wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }

    /// Feeds a tree as JSON with sorted keys.
    fn value(&mut self, value: &Value) {
        match value {
            Value::Object(map) => {
                let mut keys: Vec<&String> = map.keys().collect();
                keys.sort_unstable();
                self.bytes(b"{");
                for key in keys {
                    self.bytes(Value::from(key.as_str()).to_string().as_bytes());
                    self.bytes(b":");
                    self.value(map.get(key).unwrap_or(&Value::Null));
                    self.bytes(b",");
                }
                self.bytes(b"}");
            }
            Value::Array(items) => {
                self.bytes(b"[");
                for item in items {
                    self.value(item);
                    self.bytes(b",");
                }
                self.bytes(b"]");
            }
            scalar => self.bytes(scalar.to_string().as_bytes()),
        }
    }
}
