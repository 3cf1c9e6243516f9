use std::collections::BTreeMap;

use agent_loops::ports::{RuntimeCondition, RuntimeConditions, RuntimeHandler};
use proto::cri::{
    RuntimeCondition as Told, RuntimeFeatures, RuntimeHandler as ToldHandler,
    RuntimeHandlerFeatures, RuntimeStatus, StatusResponse,
};

use super::{Abilities, abilities_in, cdi_in, conditions_in};

#[test]
fn what_runtimes_say_about_cdi() {
    for (info, cdi) in [
        (
            Some(r#"{"enableCDI":true,"cdiSpecDirs":["/etc/cdi"]}"#),
            true,
        ),
        (Some(r#"{"enable_cdi":true}"#), true),
        (Some(r#"{"enableCDI":false}"#), false),
        (Some(r#"{"enableCDI":null}"#), false),
        (Some(r#"{"sandboxImage":"pause"}"#), false),
        (Some("no JSON"), false),
        (None, false),
    ] {
        let told = info.map(|text| ("config".to_owned(), text.to_owned()));
        assert_eq!(cdi_in(&BTreeMap::from_iter(told)), cdi, "{info:?}");
    }
}

#[test]
fn handlers_come_in_order_and_without_features_can_nothing() {
    let handler = |name: &str, features| ToldHandler {
        name: name.to_owned(),
        features,
    };
    let all = RuntimeHandlerFeatures {
        recursive_read_only_mounts: true,
        user_namespaces: true,
    };
    let response = StatusResponse {
        runtime_handlers: vec![handler("runc", Some(all)), handler("", None)],
        features: Some(RuntimeFeatures {
            supplemental_groups_policy: true,
            ..RuntimeFeatures::default()
        }),
        ..StatusResponse::default()
    };
    let expected = Abilities {
        cdi: false,
        handlers: vec![
            RuntimeHandler::default(),
            RuntimeHandler {
                name: "runc".to_owned(),
                recursive_read_only_mounts: true,
                user_namespaces: true,
            },
        ],
        supplemental_groups_policy: Some(true),
    };
    assert_eq!(abilities_in(response), expected);
    let silent = abilities_in(StatusResponse::default());
    assert_eq!(silent.supplemental_groups_policy, None);
}

#[test]
fn conditions_are_found_by_their_type() {
    let told = |name: &str, status, reason: &str| Told {
        r#type: name.to_owned(),
        status,
        reason: reason.to_owned(),
        message: reason.to_lowercase(),
    };
    let status = RuntimeStatus {
        conditions: vec![
            told("ContainerdHasNoDeprecationWarnings", true, ""),
            told("NetworkReady", false, "NetworkPluginNotReady"),
        ],
    };
    let network = RuntimeCondition {
        status: false,
        reason: "NetworkPluginNotReady".to_owned(),
        message: "networkpluginnotready".to_owned(),
    };
    let expected = RuntimeConditions {
        runtime: None,
        network: Some(network),
    };
    assert_eq!(conditions_in(status), expected);
}
