#![allow(clippy::unwrap_used)]

use super::*;

fn threshold(text: &str) -> Result<Option<Threshold>, usize> {
    let hard = BTreeMap::from([("memory.available".to_owned(), text.to_owned())]);
    let mut problems = Vec::new();
    let threshold = hard_threshold(&hard, "memory.available", &mut problems);
    match problems.len() {
        0 => Ok(threshold),
        wrong => Err(wrong),
    }
}

#[test]
fn amounts_and_shares() {
    let amount = Threshold::Amount("100Mi".parse().unwrap());
    assert_eq!(threshold("100Mi"), Ok(Some(amount)));
    assert_eq!(threshold("10%"), Ok(Some(Threshold::Share(0.1))));
    assert_eq!(threshold("0%"), Ok(None));
    assert_eq!(threshold("100%"), Ok(None));
    for wrong in ["120%", "-1%", "some", "%"] {
        assert_eq!(threshold(wrong), Err(1), "{wrong}");
    }
    assert_eq!(hard_threshold(&BTreeMap::new(), "x", &mut Vec::new()), None);
}

#[test]
fn a_share_is_rounded_as_kubernetes_rounds_it() {
    // Seen on a node of Kubernetes 1.37.2 with 10 % of nodefs.
    let share = Threshold::Share(0.1);
    assert_eq!(
        share.of(Quantity::whole(270_553_174_016)),
        Quantity::whole(27_055_317_804)
    );
}
