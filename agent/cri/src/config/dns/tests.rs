use serde_json::{Value, json};

use super::super::testing::Scene;
use super::dns;

fn check(scene: &Scene, servers: &[&str], searches: &[&str], options: &[&str]) {
    let config = dns(&scene.input());
    let got = (
        &config.servers[..],
        &config.searches[..],
        &config.options[..],
    );
    assert_eq!(
        got,
        (
            &texts(servers)[..],
            &texts(searches)[..],
            &texts(options)[..]
        )
    );
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn scene(spec: Value) -> Scene {
    Scene::new(spec)
}

const CLUSTER: [&str; 4] = [
    "space.svc.cluster.local",
    "svc.cluster.local",
    "cluster.local",
    "example.net",
];

#[test]
fn policies() {
    let cluster = |spec| check(&scene(spec), &["10.0.0.10"], &CLUSTER, &["ndots:5"]);
    let node = |spec| {
        check(
            &scene(spec),
            &["192.0.2.1"],
            &["example.net"],
            &["timeout:1"],
        )
    };
    cluster(json!({}));
    cluster(json!({"dnsPolicy": "ClusterFirst"}));
    cluster(json!({"dnsPolicy": "ClusterFirstWithHostNet", "hostNetwork": true}));
    node(json!({"dnsPolicy": "Default"}));
    node(json!({"dnsPolicy": "ClusterFirst", "hostNetwork": true}));
    check(&scene(json!({"dnsPolicy": "None"})), &[], &[], &[]);
}

#[test]
fn a_node_without_cluster_dns_uses_its_own_resolvers() {
    let mut scene = scene(json!({}));
    scene.node.cluster_dns.clear();
    check(&scene, &["192.0.2.1"], &["example.net"], &["timeout:1"]);
}

#[test]
fn a_dot_does_not_follow_cluster_domains() {
    let mut scene = scene(json!({}));
    scene.prepared.resolver.searches = texts(&["."]);
    check(&scene, &["10.0.0.10"], &CLUSTER[..3], &["ndots:5"]);
}

#[test]
fn the_pods_own_configuration_is_merged() {
    let own = json!({
        "nameservers": ["192.0.2.9", "10.0.0.10"],
        "searches": ["own.example", "cluster.local"],
        "options": [{"name": "ndots", "value": "2"}, {"name": "edns0"}],
    });
    let spec = json!({"dnsConfig": own});
    let mut searches = CLUSTER.to_vec();
    searches.push("own.example");
    check(
        &scene(spec),
        &["10.0.0.10", "192.0.2.9"],
        &searches,
        &["edns0", "ndots:2"],
    );
    let spec = json!({"dnsPolicy": "None", "dnsConfig": {"nameservers": ["192.0.2.9"]}});
    check(&scene(spec), &["192.0.2.9"], &[], &[]);
}

#[test]
fn limits() {
    let many: Vec<String> = (0..40).map(|number| format!("d{number}.example")).collect();
    let servers: Vec<String> = (1..6).map(|number| format!("192.0.2.{number}")).collect();
    let spec =
        json!({"dnsPolicy": "None", "dnsConfig": {"nameservers": servers, "searches": many}});
    let config = dns(&scene(spec).input());
    assert_eq!((config.servers.len(), config.searches.len()), (3, 32));

    let wide: Vec<String> = (0..20)
        .map(|number| format!("{number}{}", "x".repeat(198)))
        .collect();
    let spec = json!({"dnsPolicy": "None", "dnsConfig": {"searches": wide}});
    let config = dns(&scene(spec).input());
    assert!(config.searches.join(" ").len() <= 2048);
    assert_eq!(config.searches.len(), 10);

    let spec = json!({"dnsPolicy": "None", "dnsConfig": {"searches": ["y".repeat(254), "ok"]}});
    assert_eq!(dns(&scene(spec).input()).searches, ["ok"]);
}
