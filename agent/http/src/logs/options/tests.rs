use super::*;

fn parse(query: &str) -> Result<LogOptions, OptionsError> {
    let pairs: Vec<(String, String)> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (name.to_owned(), value.to_owned())
        })
        .collect();
    LogOptions::parse(&pairs, "2026-01-01T00:01:00Z".parse().unwrap())
}

#[test]
fn what_is_wanted() {
    let plain = LogOptions::default();
    let table = [
        ("", plain.clone()),
        (
            "follow=true&previous=false&timestamps",
            LogOptions {
                follow: true,
                timestamps: true,
                ..plain.clone()
            },
        ),
        (
            "follow=0&previous=1&timestamps=FALSE",
            LogOptions {
                previous: true,
                ..plain.clone()
            },
        ),
        (
            "tailLines=0",
            LogOptions {
                tail: Some(0),
                ..plain.clone()
            },
        ),
        (
            "tailLines=7&tailLines=8",
            LogOptions {
                tail: Some(7),
                ..plain.clone()
            },
        ),
        (
            "tail=3&tailLines=7",
            LogOptions {
                tail: Some(3),
                ..plain.clone()
            },
        ),
        ("tail=all&tailLines=7", plain.clone()),
        ("unheard=of", plain),
    ];
    for (query, expected) in table {
        assert_eq!(parse(query), Ok(expected), "{query}");
    }
}

#[test]
fn bounds_and_streams() {
    let plain = LogOptions::default();
    let at = |text: &str| Some(text.parse().unwrap());
    let table = [
        (
            "limitBytes=1&stream=All",
            LogOptions {
                limit: Some(1),
                ..plain.clone()
            },
        ),
        (
            "sinceSeconds=60",
            LogOptions {
                since: at("2026-01-01T00:00:00Z"),
                ..plain.clone()
            },
        ),
        ("sinceSeconds=9223372036854775807", plain.clone()),
        (
            "sinceTime=2026-01-01T01:00:00.5+01:00",
            LogOptions {
                since: at("2026-01-01T00:00:00.5Z"),
                ..plain.clone()
            },
        ),
        ("sinceTime=", plain.clone()),
        (
            "stream=Stderr",
            LogOptions {
                stream: Some("Stderr"),
                ..plain
            },
        ),
    ];
    for (query, expected) in table {
        assert_eq!(parse(query), Ok(expected), "{query}");
    }
}

#[test]
fn what_makes_no_sense() {
    use OptionsError::{Invalid, Unreadable};
    let table = [
        ("tailLines=x", Unreadable),
        ("tailLines=", Unreadable),
        ("tail=ten", Unreadable),
        ("limitBytes=1.5", Unreadable),
        ("sinceTime=yesterday", Unreadable),
        ("sinceSeconds=99999999999999999999", Unreadable),
        ("tailLines=-1", Invalid),
        ("limitBytes=0", Invalid),
        ("sinceSeconds=0", Invalid),
        ("sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z", Invalid),
        ("stream=stdout", Invalid),
        ("stream=Stdout&tailLines=1", Invalid),
    ];
    for (query, expected) in table {
        assert_eq!(parse(query), Err(expected), "{query}");
    }
}
