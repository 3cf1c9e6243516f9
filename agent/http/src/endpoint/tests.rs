use super::*;

#[test]
fn streams_of_a_query() {
    let set = |stdin, stdout, stderr, tty| {
        Some(Streams {
            stdin,
            stdout,
            stderr,
            tty,
        })
    };
    let table = [
        ("input=1&output=1&error=1", set(true, true, true, false)),
        ("output=1&error=1&tty=1", set(false, true, false, true)),
        ("input=1", set(true, false, false, false)),
        ("stdin=1&stdout=true", None),
        ("output=true", None),
        ("tty=1", None),
        ("error=1&tty=1", None),
        ("", None),
    ];
    for (query, expected) in table {
        let uri = format!("/exec?{query}").parse().unwrap();
        assert_eq!(streams(&crate::query::pairs(&uri)), expected, "{query}");
    }
}
