use super::*;

const LATER: Time = Time(60_000_000_000);

fn reasons(events: &[StatusEvent]) -> Vec<&'static str> {
    events.iter().map(|event| event.reason).collect()
}

#[test]
fn a_change_is_told_once_and_keeps_its_time() {
    let mut list = Vec::new();
    let told = update("n1", &mut list, &["down".to_owned()], Time(0));
    let fresh = [
        "NodeHasSufficientMemory",
        "NodeHasNoDiskPressure",
        "NodeHasSufficientPID",
    ];
    assert_eq!(
        reasons(&told),
        fresh,
        "a node that begins as not ready is no change"
    );
    let names: Vec<&str> = list
        .iter()
        .map(|condition| condition.type_.as_str())
        .collect();
    assert_eq!(
        names,
        ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"]
    );
    let told = update("n1", &mut list, &[], LATER);
    assert_eq!(reasons(&told), ["NodeReady"]);
    assert_eq!(told[0].message, "Node n1 status is now: NodeReady");
    assert_eq!(list[3].last_transition_time, Some(api_time(LATER)));
    assert_eq!(list[0].last_transition_time, Some(api_time(Time(0))));
    assert_eq!(list[0].last_heartbeat_time, Some(api_time(LATER)));
    assert!(update("n1", &mut list, &[], LATER).is_empty());
    let told = update("n1", &mut list, &["down".to_owned()], LATER);
    assert_eq!(reasons(&told), ["NodeNotReady"]);
}

#[test]
fn conditions_of_others_stay_where_they_are() {
    let foreign = condition("KernelDeadlock", "False", "Fine", "fine", Time(0));
    let pressure = condition(
        "DiskPressure",
        "True",
        "KubeletHasDiskPressure",
        "full",
        Time(0),
    );
    let mut list = vec![foreign.clone(), pressure];
    let told = update("n1", &mut list, &[], LATER);
    assert_eq!(list[0], foreign);
    assert_eq!(list[1].status, "False");
    assert!(reasons(&told).contains(&"NodeHasNoDiskPressure"));
}

#[test]
fn causes_are_told_once_each() {
    let causes = |texts: &[&str]| {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        words(&texts)
    };
    assert_eq!(causes(&["a"]), "a");
    assert_eq!(causes(&["a", "a"]), "a");
    assert_eq!(causes(&["a", "b", "a"]), "[a, b]");
}

#[test]
fn a_heartbeat_alone_is_no_change() {
    let mut list = Vec::new();
    update("n1", &mut list, &[], Time(0));
    let old = list.clone();
    update("n1", &mut list, &[], LATER);
    assert!(list != old && same(&old, &list));
    update("n1", &mut list, &["other words".to_owned()], LATER);
    assert!(!same(&old, &list));
}
