use super::{Policy, PolicyError};

fn policy(name: &str, list: &[&str]) -> Result<Policy, PolicyError> {
    let list: Vec<String> = list.iter().map(|each| (*each).to_owned()).collect();
    Policy::new(name, &list)
}

#[test]
fn who_has_to_show_credentials() {
    let list = ["example.com/a", "example.net/team/*"];
    for (name, image, preloaded, pulled) in [
        ("NeverVerify", "x", false, false),
        ("", "x", false, true),
        ("NeverVerifyPreloadedImages", "x", false, true),
        ("AlwaysVerify", "x", true, true),
        (
            "NeverVerifyAllowlistedImages",
            "example.com/a:1",
            false,
            false,
        ),
        ("NeverVerifyAllowlistedImages", "example.com/ab", true, true),
        (
            "NeverVerifyAllowlistedImages",
            "example.net/team/b",
            false,
            false,
        ),
        (
            "NeverVerifyAllowlistedImages",
            "example.net/teams/b",
            true,
            true,
        ),
    ] {
        let policy = policy(name, &list).expect("a policy");
        let verifies = [policy.verifies(image, false), policy.verifies(image, true)];
        assert_eq!(verifies, [preloaded, pulled], "{name} {image}");
    }
}

#[test]
fn what_is_refused() {
    assert!(matches!(
        policy("Sometimes", &[]),
        Err(PolicyError::Name(_))
    ));
    for pattern in ["", " a", "a:1", "/*", "a*", "a/*/b", "*.example/*", "A"] {
        let result = policy("NeverVerifyAllowlistedImages", &[pattern]);
        assert!(
            matches!(result, Err(PolicyError::Pattern { .. })),
            "{pattern}"
        );
    }
    // The list counts for one policy only.
    assert!(policy("AlwaysVerify", &[" a"]).is_ok());
}
