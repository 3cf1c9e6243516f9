//! With an agent: what programs read, and exit codes.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::fake::FakeAgent;
use crate::program::finish;
use crate::simulator::Machine;

/// Every command that prints a record, by the name of its golden file.
const RECORDS: &[(&str, &[&str])] = &[
    ("status", &["status"]),
    ("list", &["list"]),
    ("top", &["top", "--once"]),
    ("topo", &["topo"]),
    ("health", &["health"]),
    ("describe-gpu", &["describe", "gpu", "3"]),
    ("pods", &["pods"]),
    ("explain-pod", &["explain", "pod", "evaluate-gpu-a1"]),
    ("events", &["events"]),
    ("xid-explain", &["xid", "explain", "79"]),
];

/// Keys and values are a contract: this changes when somebody changes them, and not by accident.
#[tokio::test]
async fn json_stays_as_it_is() {
    let agent = FakeAgent::start();
    for (name, arguments) in RECORDS {
        let ran = agent.run(&[arguments, &["-o", "json"][..]].concat()).await;
        assert_eq!(ran.stderr, "", "{name}");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.json"));
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&path, &ran.stdout).unwrap();
        }
        let golden = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(
            ran.stdout, golden,
            "{name} differs; look at it, then UPDATE=1 accepts it"
        );
    }
}

#[tokio::test]
async fn yaml_says_what_json_says() {
    let agent = FakeAgent::start();
    for (name, arguments) in RECORDS {
        let json = agent
            .run(&[arguments, &["-o", "json"][..]].concat())
            .await
            .json();
        let yaml = agent.run(&[arguments, &["-o", "yaml"][..]].concat()).await;
        let yaml: Value = serde_saphyr::from_str(&yaml.stdout).unwrap();
        assert_eq!(yaml, json, "{name}");
    }
}

/// No key of any record breaks the rule, and none is left out where the value is not known.
#[tokio::test]
async fn keys_are_lower_camel_case_and_always_there() {
    let agent = FakeAgent::start();
    for (name, arguments) in RECORDS {
        let json = agent
            .run(&[arguments, &["-o", "json"][..]].concat())
            .await
            .json();
        check_keys(name, &json);
    }
    let list = agent.run(&["list", "-o", "json"]).await.json();
    let keys = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    let told = keys(&list["gpus"][0]);
    assert!(
        list["gpus"]
            .as_array()
            .unwrap()
            .iter()
            .all(|gpu| keys(gpu) == told)
    );
    let machine = Machine::new("t4x1");
    let direct = finish(machine.gpuctl().args(["list", "-o", "json"]))
        .await
        .json();
    assert_eq!(keys(&direct["gpus"][0]), told, "the same without an agent");
    assert_eq!(keys(&direct), keys(&list));
}

fn check_keys(name: &str, value: &Value) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let lower = key.starts_with(|c: char| c.is_ascii_lowercase());
                let plain = key.chars().all(|c| c.is_ascii_alphanumeric());
                assert!(lower && plain, "{name}: {key}");
                check_keys(name, value);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| check_keys(name, value)),
        _ => {}
    }
}

#[tokio::test]
async fn exit_codes_tell_what_was_found() {
    let agent = FakeAgent::start();
    for (arguments, code) in [
        (&[][..], 0),
        (&["list"], 0),
        (&["pods"], 0),
        (&["events"], 0),
        (&["health"], 1),
        (&["describe", "gpu", "GPU-05bb6e5f"], 0),
        (&["describe", "gpu", "17"], 1),
        (&["explain", "pod", "train"], 1),
        (&["explain", "pod"], 2),
        (&["list", "-o", "xml"], 2),
    ] {
        let ran = agent.run(arguments).await;
        assert_eq!(ran.code, code, "{arguments:?}: {ran:?}");
    }
}

#[tokio::test]
async fn a_name_that_does_not_exist_gets_one_clear_line() {
    let agent = FakeAgent::start();
    let ran = agent.run(&["describe", "gpu", "17"]).await;
    assert_eq!(ran.stdout, "");
    let text = "gpuctl: no GPU 17: this node has 0, 1, 2, 3; gpuctl list shows all their names\n";
    assert_eq!(ran.stderr, text);
    let ran = agent.run(&["explain", "pod", "train"]).await;
    let text = "gpuctl: no pod train on this node; is it default/train-gpu-a1?\n";
    assert_eq!(ran.stderr, text);
}

#[tokio::test]
async fn the_width_of_the_terminal_is_kept() {
    let agent = FakeAgent::start();
    for columns in ["80", "120"] {
        let ran = finish(agent.gpuctl().env("COLUMNS", columns).arg("status")).await;
        let width: usize = columns.parse().unwrap();
        assert!(
            ran.stdout.lines().all(|line| line.chars().count() <= width),
            "{}",
            ran.stdout
        );
    }
    let piped = agent.run(&["status"]).await.stdout;
    assert!(
        piped.contains("XID"),
        "nothing is left out in a pipe: {piped}"
    );
}

#[tokio::test]
async fn an_agent_that_does_not_answer_is_given_up() {
    let agent = FakeAgent::mute();
    let ran = agent.run(&["pods"]).await;
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("does not answer in time"), "{ran:?}");
    let machine = Machine::new("t4x1");
    let list = finish(
        machine
            .gpuctl()
            .env("GPULET_SOCKET", agent.socket())
            .arg("list"),
    )
    .await;
    assert_eq!(list.code, 0, "{list:?}");
    assert!(list.stdout.contains("Tesla T4"), "{list:?}");
    assert!(list.stderr.contains("does not answer in time"), "{list:?}");
}
