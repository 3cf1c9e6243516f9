#![allow(clippy::unwrap_used)]

use agent_core::FailKind;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde_json::json;

use super::*;

fn bundle(text: &str) -> Arc<DynamicObject> {
    let object = json!({"metadata": {"name": "x"}, "spec": {"trustBundle": text}});
    Arc::new(serde_json::from_value(object).unwrap())
}

fn found(texts: &[&str]) -> Found<DynamicObject> {
    let each = texts.iter().enumerate();
    each.map(|(at, text)| ((String::new(), at.to_string()), bundle(text)))
        .collect()
}

fn block(content: &str) -> String {
    certificates([content.as_bytes().to_vec()])
}

fn by_signer(labels: Option<LabelSelector>) -> TrustAsk {
    TrustAsk::of(&ClusterTrustBundleProjection {
        signer_name: Some("example.com/s".into()),
        label_selector: labels,
        ..ClusterTrustBundleProjection::default()
    })
}

#[test]
fn anchors_are_cleaned_and_each_is_there_once() {
    let (a, b) = (block("anchor a"), block("anchor b"));
    assert!(!a.contains('\r'));
    let ask = by_signer(Some(LabelSelector::default()));
    let dirty = format!("words between\n{b}more words\n{a}");
    let one = ask.answer(&found(&[&dirty, &a])).unwrap();
    assert_eq!(&*one, format!("{a}{b}"));
    let other = ask.answer(&found(&[&a, &b])).unwrap();
    assert_eq!(one, other, "whatever the order of the bundles");
}

#[test]
fn nothing_found_is_a_failure_unless_it_is_optional() {
    let named = |optional| {
        TrustAsk::of(&ClusterTrustBundleProjection {
            name: Some("roots".into()),
            optional,
            ..ClusterTrustBundleProjection::default()
        })
    };
    let missing = named(None).answer(&found(&[])).unwrap_err();
    assert_eq!(missing.kind, FailKind::Gone);
    assert!(missing.message.contains("\"roots\" not found"), "{missing}");
    assert_eq!(&*named(Some(true)).answer(&found(&[])).unwrap(), "");
    let none = by_signer(None).answer(&found(&[])).unwrap_err();
    assert!(
        none.message.contains("matched zero ClusterTrustBundles"),
        "{none}"
    );
}

#[test]
fn selectors_become_queries() {
    let labels = |value: serde_json::Value| Some(serde_json::from_value(value).unwrap());
    let selector = labels(json!({"matchLabels": {"a": "b"},
        "matchExpressions": [{"key": "c", "operator": "In", "values": ["d", "e"]}]}));
    let query = by_signer(selector).query.unwrap().unwrap();
    assert_eq!(
        query.fields.as_deref(),
        Some("spec.signerName=example.com/s")
    );
    let text = query.labels.unwrap();
    assert!(
        text.contains("a=b") && text.contains("c in (d,e)"),
        "{text}"
    );
    assert_eq!(
        by_signer(labels(json!({}))).query.unwrap().unwrap().labels,
        None
    );
    assert_eq!(
        by_signer(None).query.unwrap(),
        None,
        "no selector selects nothing"
    );
    let neither = TrustAsk::of(&ClusterTrustBundleProjection::default());
    assert_eq!(neither.query.unwrap_err().kind, FailKind::Permanent);
}
