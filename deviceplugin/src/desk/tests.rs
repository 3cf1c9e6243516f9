#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeSet;

use gpu_keeper::Refusal;
use gpu_model::{Owner, OwnerId};

use super::{Desk, ResourceAsk};
use crate::fixtures::{Machine, gpu, mig_gpu};

fn pod(name: &str) -> Owner {
    Owner {
        id: OwnerId(format!("uid-{name}")),
        name: format!("default/{name}"),
    }
}

fn ask(container: &str, resource: &str, count: u32) -> ResourceAsk {
    let (container, resource) = (container.to_owned(), resource.to_owned());
    ResourceAsk {
        init: container.starts_with("init"),
        container,
        resource,
        count,
    }
}

#[tokio::test]
async fn containers_get_grants_under_the_names_they_asked_by() {
    let machine = Machine::with(vec![gpu(0), gpu(1), mig_gpu(2, &["1g.18gb+me", "2g.35gb"])]).await;
    let desk = Desk::new(machine.keeper.clone());
    let asks = [
        ask("init", "nvidia.com/gpu", 1),
        ask("main", "nvidia.com/gpu", 2),
        ask("main", "nvidia.com/mig-1g.18gb.me", 1),
        ask("side", "nvidia.com/mig-2g.35gb", 1),
    ];
    let grants = desk.hold(pod("a"), &asks).await.unwrap();
    for (ask, grant) in asks.iter().zip(&grants) {
        assert_eq!(
            (&grant.container, &grant.resource),
            (&ask.container, &ask.resource)
        );
        assert_eq!(grant.devices.len(), ask.count as usize);
        let names = grant
            .devices
            .iter()
            .map(|d| format!("k8s.device-plugin.nvidia.com/gpu={d}"));
        assert_eq!(grant.cdi, names.collect::<Vec<_>>());
        let void = ("NVIDIA_VISIBLE_DEVICES".to_owned(), "void".to_owned());
        assert!(grant.plain.env.contains(&void));
    }
    assert!(
        grants[1].devices.contains(&grants[0].devices[0]),
        "init devices are used again"
    );
    assert_eq!(grants[2].devices, ["MIG-2-0"]);
    assert_eq!(desk.holders(), BTreeSet::from([pod("a").id]));
    let mut changes = desk.changes();
    changes.mark_unchanged();
    desk.release(pod("a").id).await;
    assert!(changes.has_changed().unwrap() && desk.holders().is_empty());
}

#[tokio::test]
async fn a_resource_that_nobody_offers_is_refused_for_good_and_nothing_is_held() {
    let machine = Machine::with(vec![gpu(0)]).await;
    let desk = Desk::new(machine.keeper.clone());
    for name in [
        "nvidia.com/gpu.shared",
        "nvidia.com/mig-",
        "example.com/fpga",
        "",
    ] {
        let asks = [ask("main", "nvidia.com/gpu", 1), ask("main", name, 1)];
        let refusal = desk.hold(pod("a"), &asks).await.unwrap_err();
        let Refusal::Never { reason, message } = refusal else {
            panic!("{name}: {refusal:?}")
        };
        assert_eq!(reason, "ResourceUnknown");
        assert!(
            message.contains("container main") && message.contains(name),
            "{message}"
        );
    }
    assert!(desk.holders().is_empty());
    // A layout with such a profile may be made later.
    let refusal = desk
        .hold(pod("a"), &[ask("main", "nvidia.com/mig-1g.18gb", 1)])
        .await
        .unwrap_err();
    assert!(matches!(refusal, Refusal::Wait { .. }));
    let refusal = desk
        .hold(pod("a"), &[ask("main", "nvidia.com/gpu", u32::MAX)])
        .await
        .unwrap_err();
    assert_eq!(refusal.reason(), "DevicesInsufficient");
}
