#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn addresses_become_names_as_with_the_stock_kubelet() {
    let rows = [
        ("Hostname", "n1"),
        ("Hostname", "192.0.2.1"),
        ("InternalIP", "10.0.0.1"),
        ("InternalIP", "fd00::1"),
        ("InternalIP", "not-an-address"),
        ("ExternalDNS", "n1.example.com"),
        ("InternalDNS", ""),
        ("Other", "x"),
    ];
    let addresses = rows.map(|(kind, address)| NodeAddress {
        kind: kind.to_owned(),
        address: address.to_owned(),
    });
    let names = ServingNames::of(&addresses);
    let dns: Vec<_> = names.dns.iter().map(String::as_str).collect();
    assert_eq!(dns, ["n1", "n1.example.com"]);
    let addresses: Vec<_> = names.addresses.iter().map(ToString::to_string).collect();
    assert_eq!(addresses, ["10.0.0.1", "192.0.2.1", "fd00::1"]);
}
