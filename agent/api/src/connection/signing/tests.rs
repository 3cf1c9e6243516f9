#![allow(clippy::unwrap_used)]

use agent_core::FailKind;
use serde_json::{Value, json};

use super::*;

fn outcome_of(status: &Value) -> Option<Result<String, Fail>> {
    let request =
        json!({"metadata": {}, "spec": {"request": "", "signerName": "x"}, "status": status});
    outcome(&serde_json::from_value(request).unwrap(), "csr-x")
}

#[test]
fn a_certificate_counts_when_it_is_approved_and_there() {
    let approved = json!([{"type": "Approved", "status": "True"}]);
    assert!(outcome_of(&json!({})).is_none());
    assert!(outcome_of(&json!({"conditions": approved})).is_none());
    assert!(outcome_of(&json!({"certificate": "UEVN"})).is_none());
    let done = outcome_of(&json!({"conditions": approved, "certificate": "UEVN"}));
    assert_eq!(done.unwrap().unwrap(), "PEM");
}

#[test]
fn a_denial_is_told_with_its_reason() {
    let denied = json!({"conditions": [
        {"type": "Denied", "status": "True", "reason": "Policy", "message": "no such node"},
    ]});
    let fail = outcome_of(&denied).unwrap().unwrap_err();
    assert_eq!(
        (fail.kind, fail.reason),
        (FailKind::Retry, "CertificateDenied")
    );
    assert!(
        fail.message
            .contains("csr-x was denied (Policy: no such node)")
    );
    let failed = json!({"conditions": [{"type": "Failed", "status": "True"}]});
    assert_eq!(
        outcome_of(&failed).unwrap().unwrap_err().reason,
        "CertificateFailed"
    );
}
