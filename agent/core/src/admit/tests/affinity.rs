use super::*;

fn requirement(key: &str, operator: Operator, values: &[&str]) -> Requirement {
    Requirement {
        key: key.to_owned(),
        operator,
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    }
}

fn by_labels(labels: Vec<Requirement>) -> Term {
    Term {
        labels,
        fields: Vec::new(),
    }
}

fn admitted(terms: Option<Vec<Term>>) -> bool {
    let needs = Needs {
        affinity: Affinity {
            selector: BTreeMap::new(),
            terms,
        },
        ..Needs::default()
    };
    verdict(&needs, &[], &node()) == "ok"
}

#[test]
fn the_selector_wants_all_labels() {
    let select = |labels: &[(&str, &str)]| Needs {
        affinity: Affinity {
            selector: labels
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
            terms: None,
        },
        ..Needs::default()
    };
    assert_eq!(verdict(&select(&[("pool", "gpu")]), &[], &node()), "ok");
    // Even when the label is missing at the object: it is added with the next report.
    assert_eq!(
        verdict(&select(&[("kubernetes.io/os", "linux")]), &[], &node()),
        "ok"
    );
    let needs = select(&[("pool", "gpu"), ("zone", "a")]);
    let rejection = admit(&needs, [], &node()).unwrap_err();
    assert_eq!(rejection.reason, "NodeAffinity");
    assert_eq!(
        rejection.message,
        "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
    );
    assert!(rejection.only_affinity);
    let mut needs = needs;
    needs.node_name = "other".to_owned();
    assert!(!admit(&needs, [], &node()).unwrap_err().only_affinity);
}

#[test]
fn requirements_compare_as_the_scheduler_does() {
    use Operator::{DoesNotExist, Exists, Gt, In, Lt, NotIn, Unknown};
    let rows: &[(&str, Operator, &[&str], bool)] = &[
        ("pool", In, &["cpu", "gpu"], true),
        ("pool", In, &["cpu"], false),
        ("none", In, &["cpu"], false),
        ("pool", NotIn, &["cpu"], true),
        ("pool", NotIn, &["gpu"], false),
        ("none", NotIn, &["gpu"], true),
        ("pool", Exists, &[], true),
        ("none", Exists, &[], false),
        ("none", DoesNotExist, &[], true),
        ("pool", DoesNotExist, &[], false),
        ("rank", Gt, &["6"], true),
        ("rank", Gt, &["7"], false),
        ("rank", Lt, &["8"], true),
        ("rank", Lt, &["7"], false),
        ("none", Gt, &["1"], false),
        ("none", Lt, &["1"], false),
        ("pool", Gt, &["1"], false),
        ("pool", Lt, &["1"], false),
        // Mistakes.
        ("rank", Gt, &["x"], false),
        ("rank", Gt, &["1", "2"], false),
        ("pool", Exists, &["gpu"], false),
        ("pool", NotIn, &[], false),
        ("pool", Unknown, &[], false),
    ];
    for (key, operator, values, expected) in rows {
        let term = by_labels(vec![requirement(key, *operator, values)]);
        assert_eq!(
            admitted(Some(vec![term])),
            *expected,
            "{key} {operator:?} {values:?}"
        );
    }
}

#[test]
fn one_term_is_enough_and_an_empty_one_matches_nothing() {
    let yes = || requirement("pool", Operator::Exists, &[]);
    let no = || requirement("none", Operator::Exists, &[]);
    assert!(admitted(None));
    assert!(!admitted(Some(vec![])));
    assert!(!admitted(Some(vec![Term::default()])));
    assert!(!admitted(Some(vec![by_labels(vec![yes(), no()])])));
    assert!(admitted(Some(vec![
        by_labels(vec![no()]),
        by_labels(vec![yes()])
    ])));
}

#[test]
fn fields_know_the_name_of_the_node() {
    let field = |operator, values: &[&str]| Term {
        labels: Vec::new(),
        fields: vec![requirement("metadata.name", operator, values)],
    };
    assert!(admitted(Some(vec![field(Operator::In, &["n1"])])));
    assert!(!admitted(Some(vec![field(Operator::In, &["n2"])])));
    assert!(admitted(Some(vec![field(Operator::NotIn, &["n2"])])));
    assert!(!admitted(Some(vec![field(Operator::In, &["n1", "n2"])])));
    assert!(!admitted(Some(vec![field(Operator::Exists, &[])])));
}
