//! Scripts are checked before they run.

use super::*;

#[test]
fn lines_have_times_quotes_and_comments() {
    let text =
        "# a day in the life\n\nxid 0 79\nat 2s set all name 'a b # c'\n  at 3s lose 1 # gone\n";
    let steps = parse(text).expect("a good script");
    let times: Vec<_> = steps.iter().map(|step| (step.line, step.at)).collect();
    let seconds = |number| Some(Duration::from_secs(number));
    assert_eq!(times, [(3, None), (4, seconds(2)), (5, seconds(3))]);
    assert!(matches!(&steps[1].command, Command::Set(set) if set.value == "a b # c"));
}

#[test]
fn a_wrong_line_is_named() {
    for (text, line) in [
        ("xid 0 79\nexplode 3", 2),
        ("at soon lose 1", 1),
        ("at", 1),
        ("set 0 name 'x", 1),
        ("lose 1\n\ninit --profile t4x1", 3),
        ("run other", 1),
    ] {
        let failure = parse(text).map(|_| ()).expect_err(text).to_string();
        assert!(failure.starts_with(&format!("line {line}:")), "{failure}");
    }
}
