use super::*;

#[test]
fn safe_ones_pass_and_others_have_to_be_allowed() {
    let mut offer = node();
    offer.unsafe_sysctls = vec![
        "net.core.somaxconn".to_owned(),
        "kernel.msg*".to_owned(),
        "vm.*".to_owned(),
    ];
    let rows = [
        ("net.ipv4.tcp_syncookies", "ok"),
        ("net/ipv4/tcp_syncookies", "ok"),
        ("net.ipv4.tcp_rmem", "ok"),
        ("net.core.somaxconn", "ok"),
        ("kernel.msgmax", "ok"),
        (
            "kernel.panic",
            "SysctlForbidden: forbidden sysctl: \"kernel.panic\" not allowlisted",
        ),
        (
            "net/core/rmem_max",
            "SysctlForbidden: forbidden sysctl: \"net.core.rmem_max\" not allowlisted",
        ),
        // No namespace, so it would be the host's, whatever the configuration allows.
        (
            "vm.swappiness",
            "SysctlForbidden: forbidden sysctl: \"vm.swappiness\" not allowlisted",
        ),
    ];
    for (name, expected) in rows {
        let mut needs = Needs::default();
        needs.sysctls.names = vec![name.to_owned()];
        assert_eq!(verdict(&needs, &[], &offer), expected);
    }
}

#[test]
fn an_older_kernel_shares_more() {
    let mut needs = Needs::default();
    needs.sysctls.names = vec!["net.ipv4.tcp_rmem".to_owned()];
    let mut offer = node();
    for (kernel, admitted) in [(Some((4, 15)), true), (Some((4, 14)), false), (None, false)] {
        offer.kernel = kernel;
        assert_eq!(verdict(&needs, &[], &offer) == "ok", admitted, "{kernel:?}");
    }
    needs.sysctls.names = vec!["kernel.shm_rmid_forced".to_owned()];
    assert_eq!(verdict(&needs, &[], &offer), "ok", "known to every kernel");
}

#[test]
fn a_namespace_of_the_host_is_not_changed() {
    type Share = fn(&mut PodSysctls);
    let mut needs = Needs::default();
    let mut offer = node();
    offer.unsafe_sysctls = vec!["user.*".to_owned()];
    let rows: [(&str, Share, &str); 3] = [
        ("net.ipv4.tcp_rmem", |pod| pod.host_network = true, "Net"),
        ("kernel.shm_rmid_forced", |pod| pod.host_ipc = true, "IPC"),
        (
            "user.max_net_namespaces",
            |pod| pod.host_users = true,
            "User",
        ),
    ];
    for (name, share, namespace) in rows {
        needs.sysctls = PodSysctls {
            names: vec![name.to_owned()],
            ..PodSysctls::default()
        };
        assert_eq!(verdict(&needs, &[], &offer), "ok");
        share(&mut needs.sysctls);
        assert_eq!(
            verdict(&needs, &[], &offer),
            format!(
                "SysctlForbidden: forbidden sysctl: {name:?} not allowed with host {namespace} enabled"
            )
        );
    }
}
