use std::collections::BTreeMap;

use super::cdi_in;

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
