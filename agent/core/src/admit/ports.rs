//! Ports of the host.

/// A port of the host that a container takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// `hostIP`; empty: all addresses.
    pub address: String,
    /// `TCP`, `UDP` or `SCTP`; empty: TCP.
    pub protocol: String,
    /// Above 0.
    pub port: i32,
}

const ALL: &str = "0.0.0.0";

/// Whether one of the wanted ports is taken already.
pub(super) fn conflict<'a>(
    wanted: &[HostPort],
    taken: impl Iterator<Item = &'a HostPort> + Clone,
) -> bool {
    wanted
        .iter()
        .any(|port| taken.clone().any(|other| port.meets(other)))
}

impl HostPort {
    /// Same port and protocol, on the same address or with one of them on all addresses.
    fn meets(&self, other: &Self) -> bool {
        let (mine, theirs) = (self.address(), other.address());
        self.port == other.port
            && self.protocol() == other.protocol()
            && (mine == theirs || mine == ALL || theirs == ALL)
    }

    fn address(&self) -> &str {
        match self.address.as_str() {
            "" => ALL,
            address => address,
        }
    }

    fn protocol(&self) -> &str {
        match self.protocol.as_str() {
            "" => "TCP",
            protocol => protocol,
        }
    }
}
