//! Names and the network.

use super::field::group;

group! {
    /// DNS and legacy network settings.
    pub struct Network {
        /// Domain of the cluster; empty: none.
        cluster_domain: String = "clusterDomain" (String::new()),
        /// Name servers of the cluster; empty: the host's.
        cluster_dns: Vec<String> = "clusterDNS" (Vec::new()),
        /// The host's resolver configuration; empty: no name service at all.
        resolv_conf: String = "resolvConf" ("/etc/resolv.conf".to_owned()),
        /// `promiscuous-bridge`, `hairpin-veth` or `none`.
        hairpin_mode: String = "hairpinMode" ("promiscuous-bridge".to_owned(), zero),
        /// Make the hint chain for other users of iptables.
        make_iptables_util_chains: bool = "makeIPTablesUtilChains" (true),
        /// Has no effect any more.
        iptables_masquerade_bit: i32 = "iptablesMasqueradeBit" (14),
        /// Has no effect any more.
        iptables_drop_bit: i32 = "iptablesDropBit" (15),
    }
}
