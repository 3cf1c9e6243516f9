//! The host's resolver configuration, which pods get as it is or as a base.

use std::fs;
use std::io;
use std::path::Path;

use agent_loops::ports::ResolverConfig;

/// Reads `nameserver`, `search` (the last one counts) and `options` lines. An empty path gives an
/// empty configuration, as in the stock kubelet.
pub(crate) fn read(path: &Path) -> io::Result<ResolverConfig> {
    if path.as_os_str().is_empty() {
        return Ok(ResolverConfig::default());
    }
    Ok(parse(&String::from_utf8_lossy(&fs::read(path)?)))
}

fn parse(text: &str) -> ResolverConfig {
    let mut config = ResolverConfig::default();
    for line in text.lines().filter(|line| !line.starts_with(['#', ';'])) {
        let mut words = line.split_whitespace().map(str::to_owned);
        match words.next().as_deref() {
            // A zone such as fe80::1%eth0 is part of the address.
            Some("nameserver") => config.servers.extend(words.next()),
            // The same as no search domain.
            Some("search") => config.searches = words.filter(|word| word != ".").collect(),
            Some("options") => config.options = words.collect(),
            _ => {}
        }
    }
    config
}

#[cfg(test)]
mod tests;
