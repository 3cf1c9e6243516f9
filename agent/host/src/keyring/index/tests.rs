use agent_loops::ports::CredentialOrigin;

use super::super::docker::{Login, Logins};
use super::{Index, url_matches};

/// Each registry is its own user name.
fn index(registries: &[&str]) -> Index {
    let login = |registry: &&str| {
        let login = Login {
            username: (*registry).to_owned(),
            ..Default::default()
        };
        ((*registry).to_owned(), login)
    };
    let logins: Logins = registries.iter().map(login).collect();
    let mut index = Index::default();
    index.add(&logins, &CredentialOrigin::Node);
    index
}

fn found(registries: &[&str], repository: &str) -> Vec<String> {
    let found = index(registries).lookup(repository);
    found.into_iter().map(|each| each.username).collect()
}

#[test]
fn the_most_specific_comes_first() {
    let all = [
        "example.com",
        "https://example.com/team/",
        "example.com/team/app",
        "http://example.com/v2/team",
        "other.example",
    ];
    assert_eq!(
        found(&all, "example.com/team/app"),
        [
            "example.com/team/app",
            "https://example.com/team/",
            "http://example.com/v2/team",
            "example.com",
        ]
    );
    assert_eq!(found(&all, "example.com/x"), ["example.com"]);
    assert_eq!(found(&all, "example.net/x"), [""; 0]);
}

#[test]
fn ports_globs_and_paths() {
    for (pattern, target, expected) in [
        ("*.docker.io", "blah.docker.io", true),
        ("*.docker.io", "not.right.io", false),
        ("*.io", "a.b.io", false),
        ("*.*.io", "a.b.io/x", true),
        ("app*.k8s.io", "app1.k8s.io", true),
        ("a?p.[a-c]x", "abp.bx", true),
        ("a?p.[^a-c]x", "abp.bx", false),
        ("a.[b", "a.b", false),
        ("example.com:5000", "example.com:5000/a", true),
        ("example.com:5000", "example.com/a", false),
        ("example.com", "example.com:5000/a", false),
        ("[fd00::1]:5000", "[fd00::1]:5000/a", true),
        ("[fd00::1]:5000", "[fd00::1]:5001/a", false),
        ("example.com/a", "example.com/abc", true),
        ("example.com/a/", "example.com/abc", false),
        ("localhost", "localhost/a", true),
    ] {
        assert_eq!(url_matches(pattern, target), expected, "{pattern} {target}");
    }
}

#[test]
fn the_default_registry_goes_by_another_name() {
    let docker = ["https://index.docker.io/v1/"];
    assert_eq!(found(&docker, "docker.io/library/busybox"), docker);
    assert_eq!(found(&docker, "example.com/a"), [""; 0]);
    let both = ["https://index.docker.io/v1/", "docker.io/mine"];
    assert_eq!(found(&both, "docker.io/mine/app"), ["docker.io/mine"]);
}
