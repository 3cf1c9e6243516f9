use agent_core::ImageName;

use super::full_name;

#[test]
fn the_default_tag_and_a_bad_name() {
    let full = |name: &str| full_name(&ImageName::new(name)).map(|name| name.to_string());
    assert_eq!(full("busybox").as_deref(), Ok("busybox:latest"));
    assert_eq!(full("a/b:1").as_deref(), Ok("a/b:1"));
    let error = "Failed to apply default image tag \"a b\": couldn't parse image name \"a b\": \
                 invalid reference format";
    assert_eq!(full("a b"), Err(error.to_owned()));
}
