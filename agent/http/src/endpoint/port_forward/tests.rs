use super::*;

/// Values of the query, and the ports or a part of what is said.
type Row<'a> = (&'a [&'a str], Result<Vec<i32>, &'a str>);

#[test]
fn ports_of_a_query() {
    let table: [Row<'_>; 7] = [
        (&["80"], Ok(vec![80])),
        (&["80,443", "8080"], Ok(vec![80, 443, 8080])),
        (&[], Err("required")),
        (&[""], Err("empty")),
        (&["0"], Err("must be > 0")),
        (&["65536"], Err("unable to parse")),
        (&["80,"], Err("unable to parse")),
    ];
    for (values, expected) in table {
        let query: Vec<_> = values
            .iter()
            .map(|value| ("port".to_owned(), (*value).to_owned()))
            .collect();
        match (ports(&query), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(found), Err(expected)) => assert!(found.contains(expected), "{found}"),
            (found, _) => panic!("{values:?}: {found:?}"),
        }
    }
}
