//! `gpulet --validate`: checks what is configured and starts nothing.

use std::io::{self, Write};
use std::process::ExitCode;

use crate::flags::Flags;
use crate::settings;

/// Prints one line for each finding and one that sums up. Exit code 1 if something cannot be used;
/// warnings alone are fine.
pub(crate) fn validate(flags: &Flags) -> ExitCode {
    let node = agent_host::node_name(flags.hostname_override.as_deref()).unwrap_or_default();
    let validation = agent_api::validate(&settings::layers(flags), &node);
    let mut lines: Vec<String> = validation
        .findings
        .iter()
        .map(ToString::to_string)
        .collect();
    if let Some(warning) = settings::ignored_flags(flags) {
        lines.push(format!("warning: {warning}"));
    }
    let good = validation.is_good();
    lines.push(match good {
        true => "configuration and manifests can be used".to_owned(),
        false => "not everything can be used, see the errors above".to_owned(),
    });
    let mut out = io::stdout().lock();
    for line in lines {
        // Nobody reads any more: the exit code still tells.
        if writeln!(out, "{line}").is_err() {
            break;
        }
    }
    if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
