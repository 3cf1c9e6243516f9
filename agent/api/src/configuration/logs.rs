//! Logs of containers and of the agent, and tracing.

use serde_json::Value;

use super::duration::GoDuration;
use super::field::group;

group! {
    /// Container logs and the agent's own.
    pub struct Logs {
        /// Folder of container logs.
        pod_logs_dir: String = "podLogsDir" ("/var/log/pods".to_owned(), zero),
        /// A container log larger than this is rotated; negative: never.
        container_log_max_size: String = "containerLogMaxSize" ("10Mi".to_owned(), zero),
        /// Log files kept of a container, at least 2.
        container_log_max_files: i32 = "containerLogMaxFiles" (5),
        /// Rotations side by side.
        container_log_max_workers: i32 = "containerLogMaxWorkers" (1),
        /// How often sizes are looked at, at least 3 s.
        container_log_monitor_interval: GoDuration =
            "containerLogMonitorInterval" (GoDuration::seconds(10)),
        /// The agent's own log.
        logging: Logging = "logging" (Logging::default()),
        /// OpenTelemetry.
        tracing: Option<Value> = "tracing" (None),
    }
}

group! {
    /// The agent's own log.
    pub struct Logging {
        /// `text` or `json`.
        format: String = "format" ("text".to_owned(), zero),
        /// How often it is flushed: nanoseconds as a number, or a duration.
        flush_frequency: Option<Value> = "flushFrequency" (None),
        /// 0 is informational; 4 and more is debugging.
        verbosity: i64 = "verbosity" (0),
        /// Verbosity by file.
        vmodule: Vec<Value> = "vmodule" (Vec::new()),
        /// Options of the formats.
        options: Option<Value> = "options" (None),
    }
}
