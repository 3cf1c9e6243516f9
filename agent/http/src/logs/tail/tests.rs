use std::io::Write;

use proptest::prelude::*;

use super::*;

fn after(text: &[u8], lines: u64) -> Vec<u8> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(text).unwrap();
    let start = tail(&file, lines).unwrap();
    text[usize::try_from(start).unwrap()..].to_vec()
}

#[test]
fn last_lines() {
    let table: [(&str, u64, &str); 9] = [
        ("", 3, ""),
        ("a\nb\nc\n", 0, ""),
        ("a\nb\nc\n", 1, "c\n"),
        ("a\nb\nc\n", 3, "a\nb\nc\n"),
        ("a\nb\nc\n", 9, "a\nb\nc\n"),
        ("a\nb\nc", 0, "c"),
        ("a\nb\nc", 1, "b\nc"),
        ("\n\n\n", 2, "\n\n"),
        ("abc", 1, "abc"),
    ];
    for (text, lines, expected) in table {
        assert_eq!(
            after(text.as_bytes(), lines),
            expected.as_bytes(),
            "{text:?} {lines}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn blocks_make_no_difference(lengths in prop::collection::vec(0usize..9000, 0..12), lines in 0u64..14) {
        let text: Vec<u8> = lengths.iter().flat_map(|length| {
            let mut line = vec![b'x'; *length];
            line.push(b'\n');
            line
        }).collect();
        let found = after(&text, lines);
        let ends = found.iter().filter(|byte| **byte == b'\n').count();
        prop_assert_eq!(ends as u64, lines.min(lengths.len() as u64));
        prop_assert!(text.ends_with(&found));
    }
}
