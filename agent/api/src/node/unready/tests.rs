use agent_loops::WatchMode;

use super::*;

const NOW: Time = Time(1_000_000_000_000);

fn watched() -> RuntimeWatch {
    RuntimeWatch {
        mode: WatchMode::Events,
        listed_at: Some(NOW),
        facts: None,
    }
}

fn ready() -> RuntimeConditions {
    let well = RuntimeCondition {
        status: true,
        ..RuntimeCondition::default()
    };
    RuntimeConditions {
        runtime: Some(well.clone()),
        network: Some(well),
    }
}

#[test]
fn a_node_is_ready_when_nothing_stands_against_it() {
    let mut health = RuntimeHealth::default();
    health.answered(ready(), NOW);
    assert!(health.causes(&watched(), NOW).is_empty());
    let later = NOW.plus(Duration::from_secs(29));
    assert!(
        health.causes(&watched(), later).is_empty(),
        "one missed answer is no trouble"
    );
    let later = NOW.plus(Duration::from_secs(30));
    assert_eq!(
        health.causes(&watched(), later),
        ["container runtime is down"]
    );
}

#[test]
fn every_cause_has_the_stock_words() {
    let unknown = RuntimeHealth::default();
    let expected = [
        "container runtime status check may not have completed yet",
        "PLEG is not healthy: pleg has yet to be successful",
        "network state unknown",
    ];
    assert_eq!(unknown.causes(&RuntimeWatch::default(), NOW), expected);
    let mut health = RuntimeHealth::default();
    health.answered(ready(), NOW);
    let later = NOW.plus(Duration::from_secs(200));
    health.answered(
        RuntimeConditions {
            network: Some(RuntimeCondition {
                status: false,
                reason: "NetworkPluginNotReady".to_owned(),
                message: "cni plugin not initialized".to_owned(),
            }),
            ..ready()
        },
        later,
    );
    let expected = [
        "PLEG is not healthy: pleg was last seen active 200s ago; threshold is 3m0s",
        "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady \
         message:cni plugin not initialized",
    ];
    assert_eq!(health.causes(&watched(), later), expected);
    health.answered(RuntimeConditions::default(), later);
    let words = health.causes(&watched(), later);
    assert_eq!(words[1], "container runtime not ready: <nil>");
}
