#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;

fn found(services: &[(&str, &str, Value)]) -> Found<Service> {
    let each = services.iter().map(|(namespace, name, spec)| {
        let metadata = json!({"namespace": namespace, "name": name});
        let service = json!({"metadata": metadata, "spec": spec});
        let key = ((*namespace).to_owned(), (*name).to_owned());
        (key, Arc::new(serde_json::from_value(service).unwrap()))
    });
    each.collect()
}

fn texts(found: &Found<Service>, namespace: &str, links: bool) -> Vec<String> {
    let variables = variables(found, namespace, links);
    variables
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect()
}

#[test]
fn names_and_values_are_the_stock_ones() {
    let found = found(&[(
        "shop",
        "web-front",
        json!({"clusterIP": "10.0.0.7", "ports": [
            {"name": "http-alt", "port": 8080, "protocol": "TCP"},
            {"name": "dns", "port": 53, "protocol": "UDP"},
        ]}),
    )]);
    assert_eq!(
        texts(&found, "shop", true),
        [
            "WEB_FRONT_PORT=tcp://10.0.0.7:8080",
            "WEB_FRONT_PORT_53_UDP=udp://10.0.0.7:53",
            "WEB_FRONT_PORT_53_UDP_ADDR=10.0.0.7",
            "WEB_FRONT_PORT_53_UDP_PORT=53",
            "WEB_FRONT_PORT_53_UDP_PROTO=udp",
            "WEB_FRONT_PORT_8080_TCP=tcp://10.0.0.7:8080",
            "WEB_FRONT_PORT_8080_TCP_ADDR=10.0.0.7",
            "WEB_FRONT_PORT_8080_TCP_PORT=8080",
            "WEB_FRONT_PORT_8080_TCP_PROTO=tcp",
            "WEB_FRONT_SERVICE_HOST=10.0.0.7",
            "WEB_FRONT_SERVICE_PORT=8080",
            "WEB_FRONT_SERVICE_PORT_DNS=53",
            "WEB_FRONT_SERVICE_PORT_HTTP_ALT=8080",
        ]
    );
}

#[test]
fn an_address_of_version_6_stands_in_brackets_in_urls_only() {
    let spec = json!({"clusterIP": "fd00::1", "ports": [{"port": 80}]});
    let texts = texts(&found(&[("shop", "web", spec)]), "shop", true);
    assert!(
        texts.contains(&"WEB_PORT=tcp://[fd00::1]:80".to_owned()),
        "{texts:?}"
    );
    assert!(
        texts.contains(&"WEB_SERVICE_HOST=fd00::1".to_owned()),
        "{texts:?}"
    );
}

#[test]
fn which_services_a_pod_sees() {
    let at = |address: &str| json!({"clusterIP": address, "ports": [{"port": 443}]});
    let mut services = vec![
        ("default", "kubernetes", at("10.0.0.1")),
        ("default", "other", at("10.0.0.2")),
        ("shop", "web", at("10.0.0.3")),
        ("shop", "headless", at("None")),
        ("shop", "nothing", at("")),
    ];
    let hosts = |found: &Found<Service>, namespace: &str, links: bool| -> Vec<String> {
        let texts = texts(found, namespace, links);
        texts
            .into_iter()
            .filter(|text| text.contains("_SERVICE_HOST="))
            .collect()
    };
    let all = found(&services);
    assert_eq!(
        hosts(&all, "shop", false),
        ["KUBERNETES_SERVICE_HOST=10.0.0.1"]
    );
    assert_eq!(
        hosts(&all, "shop", true),
        [
            "KUBERNETES_SERVICE_HOST=10.0.0.1",
            "WEB_SERVICE_HOST=10.0.0.3"
        ]
    );
    assert_eq!(
        hosts(&all, "default", false),
        ["KUBERNETES_SERVICE_HOST=10.0.0.1"]
    );
    services.push(("shop", "kubernetes", at("10.0.0.9")));
    let own = found(&services);
    assert!(hosts(&own, "shop", true).contains(&"KUBERNETES_SERVICE_HOST=10.0.0.9".to_owned()));
    assert_eq!(
        hosts(&own, "shop", false),
        ["KUBERNETES_SERVICE_HOST=10.0.0.1"]
    );
}
