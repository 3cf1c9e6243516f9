use super::*;

fn buffer(bytes: &[u8]) -> Vec<c_char> {
    bytes.iter().map(|byte| byte.cast_signed()).collect()
}

#[test]
fn ends_at_the_first_nul() {
    assert_eq!(text(&buffer(b"NVIDIA H200\0rest")), "NVIDIA H200");
    assert_eq!(text(&buffer(b"\0")), "");
    assert_eq!(text(&[]), "");
}

#[test]
fn a_buffer_without_nul_is_taken_whole() {
    assert_eq!(text(&buffer(b"full")), "full");
}

#[test]
fn garbage_becomes_visible_and_harmless() {
    assert_eq!(
        text(&buffer(b"a\xff\xfeb\x1b[2J\n\0")),
        "a\u{fffd}\u{fffd}b\u{fffd}[2J\u{fffd}"
    );
}
