#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;

struct Proof;
impl Synced for Proof {}

/// Known pods as `uid/name:stage`, wanted as `uid/name`, answers as `+start =keep -removed !stranger`
/// and `waiting>behind`.
fn check(known: &str, wanted: &str, synced: bool, changes: &str) {
    let parse = |text: &str| {
        let (uid, name) = text.split_once('/').unwrap();
        (PodUid::new(uid), PodName::new("default", name))
    };
    let known: Vec<_> = known
        .split_whitespace()
        .map(|text| {
            let (pod, stage) = text.split_once(':').unwrap();
            let stage = match stage {
                "found" => Stage::Found,
                "kept" => Stage::Kept,
                "stopping" => Stage::Stopping,
                other => panic!("{other}"),
            };
            (parse(pod), stage)
        })
        .collect();
    let known: Vec<_> = known
        .iter()
        .map(|((uid, name), stage)| KnownPod {
            uid,
            name,
            stage: *stage,
        })
        .collect();
    let wanted: Vec<_> = wanted.split_whitespace().map(parse).collect();
    let wanted: Vec<_> = wanted.iter().map(|(uid, name)| (uid, name)).collect();
    let proof: Option<&dyn Synced> = if synced { Some(&Proof) } else { None };
    let answer: Vec<String> = roster(&known, &wanted, proof)
        .into_iter()
        .map(|change| match change {
            Change::Start(uid) => format!("+{uid}"),
            Change::Keep(uid) => format!("={uid}"),
            Change::Stop {
                uid,
                why: StopWhy::Stranger,
            } => format!("!{uid}"),
            Change::Stop { uid, .. } => format!("-{uid}"),
            Change::Wait { uid, behind } => format!("{uid}>{behind}"),
        })
        .collect();
    assert_eq!(
        answer.join(" "),
        changes,
        "known {known:?} wanted {wanted:?}"
    );
}

#[test]
fn changes() {
    // New, kept, removed.
    check("", "1/a 2/b", false, "+1 +2");
    check("1/a:kept", "1/a 2/b", true, "=1 +2");
    check("1/a:kept 2/b:kept", "2/b", false, "=2 -1");
    // Adopted: the runtime shows it and a source wants it.
    check("1/a:found", "1/a", false, "+1");
    // A file was changed: the old pod of that name goes first.
    check("1/a:kept", "2/a", true, "2>1 -1");
    check("1/a:stopping", "2/a", true, "2>1 =1");
    // Removed and put back unchanged: its own earlier life goes first.
    check("1/a:stopping", "1/a", true, "1>1");
    // A stranger holds the name: it is stopped once all sources have reported.
    check("9/a:found", "1/a", false, "1>9 =9");
    check("9/a:found", "1/a", true, "1>9 !9");
    // Two wanted pods with one name, and one named twice.
    check("", "1/a 2/a 1/a", true, "+1 2>1");
}

#[test]
fn strangers_are_left_alone_without_proof() {
    check("7/x:found 8/y:found", "", false, "=7 =8");
    check("7/x:found 8/y:found", "", true, "!7 !8");
}
