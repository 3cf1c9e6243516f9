//! Where log lines go and how much of them.

use tracing_subscriber::EnvFilter;

/// Shape of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Crates that are quiet unless asked. The debug lines of transports would drown ours. The Kubernetes
/// client has a line for every request that is refused or gets no answer, and its watches one for each
/// that is not allowed, which is usual for a pod that was bound a moment ago; whoever asks hears of it
/// as a failure, and tells it once.
const QUIET: &str = "h2=info,hyper=info,tonic=info,tower=info,rustls=info,\
                     kube_client::client::builder=off,kube_runtime::watcher=error";

/// Starts logging to standard error. `verbosity` is klog's `-v`: 0 to 2 is info, 3 and 4 debug, 5 and
/// more trace. The environment variable `GPULET_LOG` (tracing's filter syntax) outranks it.
/// A second call changes nothing.
pub fn start_logging(format: LogFormat, verbosity: u8) {
    let level = match verbosity {
        0..=2 => "info",
        3 | 4 => "debug",
        _ => "trace",
    };
    let default = format!("{level},{QUIET}");
    let mut filter =
        EnvFilter::try_from_env("GPULET_LOG").unwrap_or_else(|_| EnvFilter::new(default));
    // The Kubernetes client prints answers that it cannot read, and they can be secrets: no filter may
    // let that through.
    if let Ok(silence) = "kube_client::client=error".parse() {
        filter = filter.add_directive(silence);
    }
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    let outcome = match format {
        LogFormat::Text => builder.with_ansi(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    drop(outcome);
}

#[cfg(test)]
mod tests;
