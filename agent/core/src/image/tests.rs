#![allow(clippy::unwrap_used)]

use super::{ImageReference, ImageReferenceError};

const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

#[test]
fn parts_of_a_name() {
    let digested = format!("example.com/a@{DIGEST}");
    let both = format!("busybox:1@{DIGEST}");
    for (text, written, repository, shown) in [
        (
            "busybox",
            "busybox",
            "docker.io/library/busybox",
            "busybox:latest",
        ),
        ("a/b:1", "a/b", "docker.io/a/b", "a/b:1"),
        (
            "index.docker.io/b",
            "index.docker.io/b",
            "docker.io/library/b",
            "index.docker.io/b:latest",
        ),
        (
            "localhost/a",
            "localhost/a",
            "localhost/a",
            "localhost/a:latest",
        ),
        (
            "localhost:5000",
            "localhost",
            "docker.io/library/localhost",
            "localhost:5000",
        ),
        (
            "example.com:5000/a/b_c--d:v1.0",
            "example.com:5000/a/b_c--d",
            "example.com:5000/a/b_c--d",
            "example.com:5000/a/b_c--d:v1.0",
        ),
        (
            "[fd00::1]:5000/a",
            "[fd00::1]:5000/a",
            "[fd00::1]:5000/a",
            "[fd00::1]:5000/a:latest",
        ),
        (&digested, "example.com/a", "example.com/a", &digested),
        (&both, "busybox", "docker.io/library/busybox", &both),
    ] {
        let read = ImageReference::parse(text).unwrap();
        assert_eq!(read.written, written, "{text}");
        assert_eq!(read.repository(), repository, "{text}");
        assert_eq!(read.to_string(), shown, "{text}");
    }
}

#[test]
fn what_is_no_name() {
    use ImageReferenceError::{Format, Identity, Long, Uppercase};
    let long = "a/".repeat(200) + "a";
    let id = "0123456789abcdef".repeat(4);
    for (text, error) in [
        ("", Format),
        (":1", Format),
        ("a:", Format),
        ("a b", Format),
        ("a//b", Format),
        ("-a", Format),
        ("a___b", Format),
        ("a..b", Format),
        ("a:.x", Format),
        ("a@sha256:12", Format),
        ("exa_mple.com:1/a", Format),
        ("https://example.com/a", Format),
        ("example.com/A", Uppercase),
        ("Busybox", Uppercase),
        (&long, Long),
        (&id, Identity),
    ] {
        assert_eq!(ImageReference::parse(text), Err(error), "{text}");
    }
}
