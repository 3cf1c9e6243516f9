use super::*;

fn node(uid: &str, version: &str) -> Node {
    let mut node = Node::default();
    node.metadata.uid = Some(uid.to_owned());
    node.metadata.resource_version = Some(version.to_owned());
    node
}

fn version(book: &NodeBook) -> Option<String> {
    book.node()?.metadata.resource_version.clone()
}

#[test]
fn an_older_object_never_comes_back() {
    let book = NodeBook::new();
    let mut seen = book.subscribe();
    for (uid, given, kept) in [
        ("a", "9", "9"),
        ("a", "10", "10"),
        ("a", "9", "10"),
        ("a", "10", "10"),
        ("b", "8", "8"),
        ("b", "opaque", "opaque"),
        ("b", "9", "9"),
    ] {
        book.offer(node(uid, given));
        assert_eq!(version(&book).as_deref(), Some(kept), "{uid} {given}");
    }
    seen.mark_unchanged();
    book.offer(node("b", "9"));
    assert_eq!(
        seen.has_changed().ok(),
        Some(false),
        "the same object wakes nobody"
    );
    book.clear();
    assert!(book.node().is_none());
}
