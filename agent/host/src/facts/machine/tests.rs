use std::net::{IpAddr, Ipv4Addr};

use agent_loops::ports::Machine;

use super::{LocalMachine, go_name, in_user_namespace, pretty_name, swap};

#[test]
fn texts_of_the_host_are_understood() {
    let release = "NAME=\"X\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n";
    assert_eq!(
        pretty_name(release).as_deref(),
        Some("Debian GNU/Linux 12 (bookworm)")
    );
    assert_eq!(pretty_name("NAME=X\n"), None);
    assert_eq!(
        swap("MemTotal: 5 kB\nSwapTotal:       2048 kB\n"),
        2_097_152
    );
    assert_eq!(swap("MemTotal: 5 kB\n"), 0);
    assert_eq!(go_name("x86_64"), "amd64");
    assert_eq!(go_name("aarch64"), "arm64");
    assert_eq!(go_name("riscv64"), "riscv64");
}

#[test]
fn a_user_namespace_shows_in_its_id_map() {
    for (map, inside) in [
        ("         0          0 4294967295\n", false),
        ("", false),
        ("         0       1000          1\n", true),
        ("0 0 65536\n65536 100000 65536\n", true),
    ] {
        assert_eq!(in_user_namespace(map), inside, "{map:?}");
    }
}

#[tokio::test]
async fn this_host_knows_its_own_addresses() {
    let own = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let foreign = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));
    let machine = LocalMachine::new("/".into(), vec![own, foreign], None);
    let facts = machine.facts().await.expect("this host can be read");
    assert_eq!(facts.local.iter().collect::<Vec<_>>(), [&own]);
    assert!(!facts.boot_id.is_empty() && !facts.kernel_version.is_empty());
    assert!(facts.cpus > 0 && facts.memory > 0);
    assert!(facts.ephemeral_storage.is_some_and(|bytes| bytes > 0));
    assert!(facts.resolved.is_empty());
}
