use crate::cri;

#[test]
fn credentials_and_values_are_hidden_and_names_shown() {
    let secret = || "s3cret".to_owned();
    let pull = cri::PullImageRequest {
        auth: Some(cri::AuthConfig {
            username: "user".into(),
            password: secret(),
            auth: secret(),
            server_address: "registry.example".into(),
            identity_token: secret(),
            registry_token: String::new(),
        }),
        ..Default::default()
    };
    let config = cri::ContainerConfig {
        envs: vec![cri::KeyValue {
            key: "TOKEN".into(),
            value: secret().into_bytes(),
        }],
        ..Default::default()
    };
    let printed = format!(
        "{pull:?} {config:?} {:?} {:?} {:?}",
        cri::ExecResponse { url: secret() },
        cri::AttachResponse { url: secret() },
        cri::PortForwardResponse { url: secret() },
    );
    assert!(!printed.contains("s3cret"), "{printed}");
    assert!(
        !printed.contains("115, 51"),
        "bytes of the value: {printed}"
    );
    for shown in [
        "user",
        "registry.example",
        "TOKEN",
        "registry_token: <empty>",
    ] {
        assert!(printed.contains(shown), "{shown} is missing in {printed}");
    }
}
