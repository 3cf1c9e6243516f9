//! The configuration as a document: what holds, whether it was written or is a default.

use serde_json::{Map, Value};

use super::layers::{API_VERSION, KIND};
use super::{GoDuration, KubeletConfiguration};

/// What a field that is not set stands for.
const STATUS_UPDATE: GoDuration = GoDuration::seconds(10);
const STATUS_REPORT: GoDuration = GoDuration::seconds(300);

impl KubeletConfiguration {
    /// All settings as a document that, loaded again, gives this configuration. Kubernetes 1.37 shows
    /// it under `/configz`.
    pub fn shown(&self) -> Value {
        let mut map = Map::new();
        map.insert("kind".to_owned(), Value::from(KIND));
        map.insert("apiVersion".to_owned(), Value::from(API_VERSION));
        self.pods.put(&mut map);
        self.images.put(&mut map);
        self.resources.put(&mut map);
        self.logs.put(&mut map);
        self.network.put(&mut map);
        self.server.put(&mut map);
        self.node.put(&mut map);
        self.eviction.put(&mut map);
        let update = self.node.node_status_update_frequency;
        let report = self.node.node_status_report_frequency.or(update);
        for (key, value) in [
            ("nodeStatusUpdateFrequency", update.unwrap_or(STATUS_UPDATE)),
            ("nodeStatusReportFrequency", report.unwrap_or(STATUS_REPORT)),
        ] {
            map.insert(key.to_owned(), Value::from(value.to_string()));
        }
        Value::Object(map)
    }
}
