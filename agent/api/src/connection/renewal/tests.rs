use std::collections::BTreeSet;

use super::*;

#[test]
fn it_is_due_at_70_to_90_percent() {
    let begin = SystemTime::UNIX_EPOCH;
    let leaf = Leaf {
        not_before: begin,
        not_after: begin + Duration::from_secs(1000),
        common_name: String::new(),
        organizations: BTreeSet::new(),
        dns_names: BTreeSet::new(),
        addresses: BTreeSet::new(),
    };
    let after = |chance| {
        let at = due(&leaf, chance).duration_since(begin).unwrap_or_default();
        at.as_secs_f64().round()
    };
    assert_eq!([after(0.0), after(0.5), after(1.0)], [700.0, 800.0, 900.0]);
}

#[test]
fn chance_is_spread() {
    let draws: Vec<f64> = (0..200).map(|_| chance()).collect();
    assert!(draws.iter().all(|draw| (0.0..=1.0).contains(draw)));
    assert!(draws.iter().any(|draw| *draw < 0.3) && draws.iter().any(|draw| *draw > 0.7));
}

#[test]
fn the_stamp_is_the_stock_kubelets() {
    let stamp = stamp();
    let shape: String = stamp
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    assert_eq!(shape, "0000-00-00-00-00-00");
}
