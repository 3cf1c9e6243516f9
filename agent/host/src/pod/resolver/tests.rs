#![allow(clippy::unwrap_used)]

use std::path::Path;

use agent_loops::ports::ResolverConfig;

use super::{parse, read};

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn lines_are_read_as_the_c_library_does() {
    let text = "# comment\nnameserver 10.0.0.1\nnameserver  fe80::1%eth0 rest\n; comment\n\
                search a.example b.example\nsearch c.example .\noptions ndots:5 timeout:1\nnameserver\n\
                sortlist x\n";
    let config = parse(text);
    assert_eq!(config.servers, words("10.0.0.1 fe80::1%eth0"));
    assert_eq!(
        config.searches,
        words("c.example"),
        "the last search line counts"
    );
    assert_eq!(config.options, words("ndots:5 timeout:1"));
}

#[test]
fn no_path_is_no_name_service_and_a_missing_file_is_an_error() {
    assert_eq!(read(Path::new("")).unwrap(), ResolverConfig::default());
    assert!(read(Path::new("/nowhere/resolv.conf")).is_err());
}
