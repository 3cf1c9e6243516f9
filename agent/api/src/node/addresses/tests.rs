use super::*;
use crate::node::settings::NodeFlags;
use crate::node::testing::{flags, machine, settings_with};

fn texts(addresses: &[NodeAddress]) -> Vec<String> {
    let text = |address: &NodeAddress| format!("{}={}", address.type_, address.address);
    addresses.iter().map(text).collect()
}

/// Addresses for `--node-ip`, on a machine with 10.0.0.1 and fd00::1.
fn chosen(node_ip: &str, change: impl FnOnce(&mut NodeFlags, &mut MachineFacts)) -> Vec<String> {
    let (mut flags, mut machine) = (flags(), machine());
    flags.node_ip = node_ip.to_owned();
    change(&mut flags, &mut machine);
    match choose(&settings_with(&flags, |_| {}), &machine, &[]) {
        Ok(addresses) => texts(&addresses),
        Err(why) => vec![why],
    }
}

fn ips(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().filter_map(|text| text.parse().ok()).collect()
}

#[test]
fn the_flag_comes_first() {
    assert_eq!(
        chosen("10.0.0.1", |_, _| {}),
        ["InternalIP=10.0.0.1", "Hostname=n1"]
    );
    let both = ["InternalIP=fd00::1", "InternalIP=10.0.0.1", "Hostname=n1"];
    assert_eq!(chosen("fd00::1,10.0.0.1", |_, _| {}), both);
    for (address, why) in [
        ("127.0.0.1", "loopback"),
        ("169.254.0.1", "link-local"),
        ("fe80::1", "link-local"),
        ("224.0.0.1", "multicast"),
        ("10.0.0.2", "no interface"),
    ] {
        let told = chosen(address, |_, _| {});
        assert!(told[0].contains(why), "{address}: {told:?}");
    }
}

#[test]
fn without_the_flag_name_and_route_decide() {
    let routes = |machine: &mut MachineFacts| machine.routed = ips(&["10.0.0.1", "fd00::1"]);
    assert_eq!(
        chosen("", |_, machine| routes(machine))[0],
        "InternalIP=10.0.0.1"
    );
    assert_eq!(
        chosen("::", |_, machine| routes(machine))[0],
        "InternalIP=fd00::1"
    );
    let resolved = chosen("", |_, machine| {
        routes(machine);
        machine.resolved = ips(&["127.0.1.1", "fd00::1"]);
    });
    assert_eq!(
        resolved[0], "InternalIP=fd00::1",
        "a loopback name does not count"
    );
    let named = chosen("", |flags, _| flags.hostname = "192.0.2.4".to_owned());
    assert_eq!(named, ["InternalIP=192.0.2.4", "Hostname=192.0.2.4"]);
    let only_v6 = |machine: &mut MachineFacts| machine.routed = ips(&["fd00::1"]);
    assert_eq!(
        chosen("", |_, machine| only_v6(machine))[0],
        "InternalIP=fd00::1"
    );
    let none = chosen("0.0.0.0", |_, machine| only_v6(machine));
    assert!(none[0].contains("set --node-ip"), "{none:?}");
}

#[test]
fn a_cloud_provider_outranks_the_node() {
    let cloud = |flags: &mut NodeFlags| flags.external_cloud_provider = true;
    assert_eq!(chosen("", |flags, _| cloud(flags)), ["Hostname=n1"]);
    let hint = ["InternalIP=10.0.0.1", "Hostname=n1"];
    assert_eq!(chosen("10.0.0.1", |flags, _| cloud(flags)), hint);
    let mut flags = flags();
    cloud(&mut flags);
    let settings = settings_with(&flags, |_| {});
    assert_eq!(provided(&settings).as_deref(), Some("10.0.0.1"));
    let set = [NodeAddress {
        type_: "ExternalIP".to_owned(),
        address: "198.51.100.1".to_owned(),
    }];
    let kept = choose(&settings, &machine(), &set);
    assert_eq!(
        kept.map(|kept| texts(&kept)),
        Ok(vec!["ExternalIP=198.51.100.1".to_owned()])
    );
}
