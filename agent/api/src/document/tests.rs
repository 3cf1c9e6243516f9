#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::{DocumentError, read};

#[test]
fn yaml_and_json_give_the_same_tree() {
    let expected = json!({"mode": 420, "on": true, "size": "10Mi", "list": [1, "a"]});
    for text in [
        "mode: 0644\non: yes\nsize: 10Mi\nlist: [1, a]\n",
        "---\nmode: 0644\non: true\nsize: 10Mi\nlist:\n- 1\n- a\n",
        "{\n\t\"mode\": 420,\r\n\t\"on\": true, \"size\": \"10Mi\", \"list\": [1, \"a\"]}",
    ] {
        let document = read(text.as_bytes()).unwrap();
        assert_eq!(
            (document.value, document.further),
            (expected.clone(), 0),
            "{text}"
        );
    }
}

#[test]
fn only_the_first_document_counts_and_the_rest_is_told() {
    let document = read(b"a: 1\n---\nb: 2\n---\nc: 3\n").unwrap();
    assert_eq!((document.value, document.further), (json!({"a": 1}), 2));
}

#[test]
fn what_cannot_be_read_says_where() {
    let table: &[(&[u8], &str)] = &[
        (b"", "it is empty"),
        (b"# nothing\n\n", "it is empty"),
        (b"a: \xff\n", "it is not UTF-8 text: byte 3 is wrong"),
        (
            b"a: 1\na: 2\n",
            "line 2, column 1: duplicate mapping key: a",
        ),
        (
            b"a:\n\t- b\n",
            "line 2, column 2: tabs disallowed within this context (block indentation)",
        ),
        (b"spec:\n  name: \"cut", "line 2, column 9: unclosed quote"),
        (
            b"{\"kind\": \"Pod\", \"metadata\": {\"na",
            "line 1, column 30: unclosed quote",
        ),
    ];
    for (bytes, expected) in table {
        assert_eq!(read(bytes).unwrap_err().to_string(), *expected);
    }
}

#[test]
fn a_text_that_explodes_or_nests_without_end_is_refused() {
    let mut bomb = String::from("a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]\n");
    for level in 1..9 {
        let row = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{row}]\n"));
    }
    for text in [bomb, "[".repeat(100_000)] {
        assert!(matches!(
            read(text.as_bytes()),
            Err(DocumentError::Syntax { .. })
        ));
    }
}

#[test]
fn a_manifest_of_nearly_ten_mebibytes_is_read() {
    let text = format!("a: \"{}\"\n", "x".repeat(10 * 1024 * 1024 - 10));
    assert!(read(text.as_bytes()).is_ok());
}
