#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeSet;
use std::io;

use agent_core::FailKind;

use super::{CgroupError, convert, failed};

#[test]
fn weight_is_the_kubelets() {
    let table = [
        (0, 1),
        (2, 1),
        (102, 4),
        (1024, 39),
        (2048, 79),
        (262_144, 10_000),
        (1 << 40, 10_000),
    ];
    for (shares, weight) in table {
        assert_eq!(convert::weight(shares), weight, "{shares} shares");
    }
    for shares in [2, 102, 512, 1024, 8192, 262_144] {
        let back = convert::shares(convert::weight(shares));
        assert!(
            (0..=27).contains(&(shares - back)),
            "{shares} shares came back as {back}"
        );
        assert_eq!(convert::weight(back), convert::weight(shares));
    }
}

#[test]
fn what_the_configuration_says_stays_wrong_the_rest_may_pass() {
    assert_eq!(
        CgroupError::SystemdDriver.fail("X").kind,
        FailKind::Permanent
    );
    let busy = CgroupError::Busy {
        cgroup: "kubepods/pod1".into(),
        pids: BTreeSet::from([7, 9]),
    };
    let fail = busy.fail("FailedCleanUp");
    assert_eq!((fail.kind, fail.reason), (FailKind::Retry, "FailedCleanUp"));
    assert!(
        fail.message.contains("kubepods/pod1") && fail.message.contains("7, 9"),
        "{fail}"
    );
    let gone = failed("remove", "/x")(io::Error::from_raw_os_error(16)).fail("X");
    assert_eq!(gone.kind, FailKind::Retry);
    assert!(
        gone.message.starts_with("cgroup: cannot remove /x: "),
        "{gone}"
    );
}
