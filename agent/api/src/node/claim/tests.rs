use k8s_openapi::api::coordination::v1::LeaseSpec;
use tokio::time::advance;

use super::*;
use crate::node::testing::NOW;

fn own() -> Identity {
    Identity::new("machine", "boot", Time(5))
}

fn lease(holder: Option<&str>, renewed: Time) -> Lease {
    let mut lease = Lease::default();
    let annotation = holder.map(|holder| [(HOLDER.to_owned(), holder.to_owned())].into());
    lease.metadata.annotations = annotation;
    lease.spec = Some(LeaseSpec {
        lease_duration_seconds: Some(40),
        renew_time: Some(renew_time(renewed)),
        ..LeaseSpec::default()
    });
    lease
}

#[tokio::test(start_paused = true)]
async fn who_may_take_a_lease_at_once() {
    assert_eq!(own().text(), "machine/boot/5");
    let minutes = |minutes: u64| Time(NOW.0 - i64::try_from(minutes * 60_000_000_000).unwrap_or(0));
    for (case, lease, free) in [
        ("none there", None, true),
        ("a stock kubelet's", Some(lease(None, NOW)), true),
        (
            "this process's",
            Some(lease(Some("machine/boot/5"), NOW)),
            true,
        ),
        (
            "this machine's, before a boot",
            Some(lease(Some("machine/old/1"), NOW)),
            true,
        ),
        (
            "another machine's",
            Some(lease(Some("other/boot/5"), NOW)),
            false,
        ),
        (
            "another one's, a little old",
            Some(lease(Some("other/boot/5"), minutes(5))),
            false,
        ),
        (
            "another one's, long gone",
            Some(lease(Some("other/boot/5"), minutes(11))),
            true,
        ),
        (
            "another one's, from a clock ahead",
            Some(lease(Some("other/boot/5"), Time(i64::MAX))),
            false,
        ),
    ] {
        let verdict = Claim::default().judge(lease.as_ref(), &own(), NOW);
        assert_eq!(verdict == Verdict::Free, free, "{case}");
    }
    let nameless = Identity::new("", "boot", Time(5));
    let held = lease(Some("other/boot/5"), NOW);
    assert_eq!(
        Claim::default().judge(Some(&held), &nameless, NOW),
        Verdict::Free
    );
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_not_renewed_for_its_duration_is_free() {
    let mut claim = Claim::default();
    let held = Verdict::Held("other/boot/5".to_owned());
    let seconds = Duration::from_secs;
    let first = lease(Some("other/boot/5"), NOW);
    assert_eq!(claim.judge(Some(&first), &own(), NOW), held);
    advance(seconds(39)).await;
    let renewed = lease(Some("other/boot/5"), NOW.plus(seconds(39)));
    assert_eq!(claim.judge(Some(&renewed), &own(), NOW), held);
    advance(seconds(39)).await;
    assert_eq!(
        claim.judge(Some(&renewed), &own(), NOW),
        held,
        "renewed in between"
    );
    advance(seconds(1)).await;
    assert_eq!(claim.judge(Some(&renewed), &own(), NOW), Verdict::Free);
}

#[tokio::test(start_paused = true)]
async fn time_without_an_api_server_does_not_count() {
    let mut claim = Claim::default();
    let lease = lease(Some("other/boot/5"), NOW);
    let held = Verdict::Held("other/boot/5".to_owned());
    assert_eq!(claim.judge(Some(&lease), &own(), NOW), held);
    advance(Duration::from_secs(60)).await;
    claim.was_blind();
    assert_eq!(
        claim.judge(Some(&lease), &own(), NOW),
        held,
        "it could not renew either"
    );
    advance(Duration::from_secs(40)).await;
    assert_eq!(claim.judge(Some(&lease), &own(), NOW), Verdict::Free);
}
