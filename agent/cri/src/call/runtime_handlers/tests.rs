use proto::cri::{RuntimeHandler, RuntimeHandlerFeatures};

use super::in_handlers;

#[test]
fn only_a_handler_that_says_so_has_them() {
    let handler = |name: &str, user_namespaces| RuntimeHandler {
        name: name.to_owned(),
        features: Some(RuntimeHandlerFeatures {
            user_namespaces,
            ..Default::default()
        }),
    };
    let silent = RuntimeHandler {
        name: "silent".to_owned(),
        features: None,
    };
    let handlers = [handler("", true), handler("vm", false), silent];
    for (name, expected) in [
        ("", true),
        ("vm", false),
        ("silent", false),
        ("none", false),
    ] {
        assert_eq!(in_handlers(&handlers, name), expected, "{name:?}");
    }
    assert!(!in_handlers(&[], ""));
}
