//! Taints of a new Node object.

use k8s_openapi::api::core::v1::Taint;

use super::labels::{is_label_value, is_qualified_name};
use super::settings::NodeSettings;
use crate::problem::Problem;

const FIELD: &str = "--register-with-taints";
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// Taint that an external cloud provider takes away once it knows the node.
const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// Taints of a new Node object. One that is there already keeps its own.
pub(crate) fn initial(settings: &NodeSettings) -> Option<Vec<Taint>> {
    let mut taints = settings.taints.clone();
    if settings.external_cloud_provider {
        taints.push(Taint {
            key: UNINITIALIZED.to_owned(),
            value: Some("true".to_owned()),
            effect: "NoSchedule".to_owned(),
            ..Taint::default()
        });
    }
    (!taints.is_empty()).then_some(taints)
}

/// Reads `key=value:Effect` or `key:Effect`, each key and effect once.
pub(crate) fn parse(texts: &[String], problems: &mut Vec<Problem>) -> Vec<Taint> {
    let mut taints: Vec<Taint> = Vec::new();
    for text in texts {
        let Some(taint) = parse_one(text) else {
            let allowed = EFFECTS.join(", ");
            let message =
                format!("{text:?} is no taint; write key=value:Effect, Effect one of {allowed}");
            problems.push(Problem::new(FIELD, message));
            continue;
        };
        let twice = |old: &Taint| old.key == taint.key && old.effect == taint.effect;
        if taints.iter().any(twice) {
            let message = format!("{text:?}: key and effect are there already");
            problems.push(Problem::new(FIELD, message));
            continue;
        }
        taints.push(taint);
    }
    taints
}

fn parse_one(text: &str) -> Option<Taint> {
    let (rest, effect) = text.split_once(':')?;
    let (key, value) = match rest.split_once('=') {
        Some((key, value)) => (key, Some(value)),
        None => (rest, None),
    };
    let fits =
        EFFECTS.contains(&effect) && is_qualified_name(key) && value.is_none_or(is_label_value);
    fits.then(|| Taint {
        key: key.to_owned(),
        value: value.filter(|value| !value.is_empty()).map(str::to_owned),
        effect: effect.to_owned(),
        ..Taint::default()
    })
}
