//! What the host is.

mod machine;

pub use machine::LocalMachine;
use rustix::process::geteuid;
use rustix::system::uname;

/// Whether this process is root, which nearly everything here needs.
pub fn is_root() -> bool {
    geteuid().is_root()
}

/// Name of this node: the override, else the host's name; without blanks, in lower case.
/// `None` if nothing is left of it.
pub fn node_name(hostname_override: Option<&str>) -> Option<String> {
    let own = uname();
    let host = own.nodename().to_string_lossy();
    let name = hostname_override
        .filter(|name| !name.is_empty())
        .unwrap_or(&host);
    let name = name.trim().to_lowercase();
    (!name.is_empty()).then_some(name)
}
