use super::*;
use crate::node::testing::{flags, machine, settings_with};

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    pairs.iter().map(own).collect()
}

#[test]
fn operators_may_set_what_admission_lets_a_node_set() {
    for (key, value, fine) in [
        ("pool", "gpu", true),
        ("example.com/pool", "gpu", true),
        ("node.kubernetes.io/pool", "gpu", true),
        ("sub.node.kubernetes.io/pool", "gpu", true),
        ("kubelet.kubernetes.io/x", "", true),
        ("topology.kubernetes.io/zone", "a", true),
        ("node.kubernetes.io/instance-type", "big", true),
        ("node-role.kubernetes.io/worker", "", false),
        ("mynode.kubernetes.io/x", "", false),
        ("kubernetes.io/x", "", false),
        ("x.k8s.io/y", "", false),
        ("notkubernetes.io/x", "", true),
        ("Bad.Domain/x", "", false),
        ("pool", "a b", false),
        ("pool", "-a", false),
        ("", "a", false),
        ("a/", "a", false),
    ] {
        let mut problems = Vec::new();
        check(&labels(&[(key, value)]), &mut problems);
        assert_eq!(problems.is_empty(), fine, "{key}={value}: {problems:?}");
    }
}

#[test]
fn an_object_that_is_there_gets_default_labels_only() {
    let mut flags = flags();
    flags.node_labels = labels(&[
        ("pool", "gpu"),
        ("topology.kubernetes.io/zone", "a"),
        ("topology.kubernetes.io/region", ""),
    ]);
    let wanted = initial(&settings_with(&flags, |_| {}), &machine());
    assert_eq!(wanted["pool"], "gpu");
    let mut there = labels(&[
        ("kubernetes.io/hostname", "other"),
        ("topology.kubernetes.io/region", "r"),
        ("mine", "kept"),
    ]);
    adopt(&wanted, &mut there);
    let expected = labels(&[
        ("beta.kubernetes.io/arch", "amd64"),
        ("beta.kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", "amd64"),
        ("kubernetes.io/hostname", "n1"),
        ("kubernetes.io/os", "linux"),
        ("mine", "kept"),
        ("topology.kubernetes.io/zone", "a"),
    ]);
    assert_eq!(there, expected);
}
