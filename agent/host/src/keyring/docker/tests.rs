#![allow(clippy::unwrap_used)]

use sha2::{Digest, Sha256};

use super::{Login, config_json, dockercfg, hash, hex};

fn text(login: &Login) -> String {
    format!("{}|{}|{}", login.username, login.password, login.email)
}

#[test]
fn both_formats_and_all_ways_to_write_a_login() {
    // "me:se:cret" with and without padding.
    let entries = r#"{
        "a.example": {"auth": "bWU6c2U6Y3JldA=="},
        "b.example": {"auth": "bWU6c2U6Y3JldA", "username": "old", "password": "old"},
        "c.example": {"username": "u", "password": "p", "email": "e@example.com"},
        "d.example": {}
    }"#;
    let expected = ["me|se:cret|", "me|se:cret|", "u|p|e@example.com", "||"];
    let new = config_json(format!("{{\"auths\": {entries}, \"HttpHeaders\": {{}}}}").as_bytes());
    for logins in [new.unwrap(), dockercfg(entries.as_bytes()).unwrap()] {
        assert_eq!(logins.values().map(text).collect::<Vec<_>>(), expected);
    }
    assert!(config_json(b"{}").unwrap().is_empty());
}

#[test]
fn a_bad_entry_costs_nobody_the_others() {
    let text = br#"{"auths": {
        "bad": {"auth": "%%%"}, "plain": {"auth": "bm9jb2xvbg=="}, "list": [], "good": {"username": "u"}
    }}"#;
    let logins = config_json(text).unwrap();
    assert_eq!(logins.keys().collect::<Vec<_>>(), ["good"]);
    assert!(config_json(b"no json").is_err());
    assert!(dockercfg(b"[]").is_err());
}

#[test]
fn the_hash_is_over_the_stock_json() {
    for (username, password, email, json) in [
        ("u", "p", "", r#"{"username":"u","password":"p"}"#),
        (
            "u",
            "a<b>&\"\u{2028}",
            "e",
            r#"{"username":"u","password":"a\u003cb\u003e\u0026\"\u2028","email":"e"}"#,
        ),
        ("", "", "", "{}"),
    ] {
        let login = Login {
            username: username.to_owned(),
            password: password.to_owned(),
            email: email.to_owned(),
        };
        assert_eq!(hash(&login), hex(&Sha256::digest(json)), "{json}");
    }
}
