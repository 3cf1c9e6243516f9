//! Limits of the agent's own process. None of them is worth not starting for.

use std::fs;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::warn;

/// Sets the kernel's preference for killing this process when memory is short, -1000 to 1000. Needs
/// `CAP_SYS_RESOURCE` to lower it; a failure is logged.
pub fn set_oom_score(score: i32) {
    if let Err(error) = fs::write("/proc/self/oom_score_adj", score.to_string()) {
        warn!(score, %error, "the agent's own oomScoreAdj cannot be set; it goes on with the one it has");
    }
}

/// Sets how many files this process may open, or as many as it may set. A failure is logged.
pub fn set_open_files(count: u64) {
    let wanted = Rlimit {
        current: Some(count),
        maximum: Some(count),
    };
    if setrlimit(Resource::Nofile, wanted).is_ok() {
        return;
    }
    let maximum = getrlimit(Resource::Nofile).maximum;
    let most = maximum.map_or(count, |maximum| maximum.min(count));
    let possible = Rlimit {
        current: Some(most),
        maximum,
    };
    match setrlimit(Resource::Nofile, possible) {
        Ok(()) => warn!(count, most, "maxOpenFiles cannot be raised that far"),
        Err(error) => warn!(count, %error, "maxOpenFiles cannot be set; it stays as it is"),
    }
}
