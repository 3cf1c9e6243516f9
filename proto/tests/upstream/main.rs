//! Our definitions against those that the Go modules k8s.io/cri-api and k8s.io/kubelet publish.
//!
//! `<api>.txt` beside this file holds the facts of the upstream definitions, one line for each field,
//! enum value and method. The first test compares ours with that table and needs nothing else. The
//! second one makes the table anew from the Go modules and skips where these cannot be had.
//! `UPDATE=1 cargo test -p proto` writes the tables instead, after a version change in `UPSTREAM`.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod facts;
mod go_module;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use protox::prost_reflect::DescriptorPool;

struct Upstream {
    api: &'static str,
    ours: &'static [u8],
    module: &'static str,
    file: &'static str,
}

const UPSTREAM: [Upstream; 4] = [
    Upstream {
        api: "cri",
        ours: proto::cri::DESCRIPTOR_SET,
        module: "k8s.io/cri-api@v0.37.2",
        file: "pkg/apis/runtime/v1/api.proto",
    },
    Upstream {
        api: "deviceplugin",
        ours: proto::deviceplugin::DESCRIPTOR_SET,
        module: "k8s.io/kubelet@v0.37.2",
        file: "pkg/apis/deviceplugin/v1beta1/api.proto",
    },
    Upstream {
        api: "pluginregistration",
        ours: proto::pluginregistration::DESCRIPTOR_SET,
        module: "k8s.io/kubelet@v0.37.2",
        file: "pkg/apis/pluginregistration/v1/api.proto",
    },
    Upstream {
        api: "podresources",
        ours: proto::podresources::DESCRIPTOR_SET,
        module: "k8s.io/kubelet@v0.37.2",
        file: "pkg/apis/podresources/v1/api.proto",
    },
];

#[test]
fn our_definitions_say_what_the_tables_say() {
    for upstream in &UPSTREAM {
        let pool = DescriptorPool::decode(upstream.ours).unwrap();
        let table = std::fs::read_to_string(table_path(upstream.api)).unwrap();
        assert_same(upstream.api, &facts::of(&pool), &table);
    }
}

#[test]
fn the_tables_say_what_the_go_modules_say() {
    for upstream in &UPSTREAM {
        let root = match go_module::fetch(upstream.module) {
            Ok(root) => root,
            Err(reason) => {
                // Not through println!, which the test harness keeps to itself for a test that passes.
                let line = format!("SKIP the_tables_say_what_the_go_modules_say: {reason}\n");
                std::io::stdout().write_all(line.as_bytes()).unwrap();
                return;
            }
        };
        let mut compiler = protox::Compiler::new([&root]).unwrap();
        compiler
            .include_imports(true)
            .open_file(root.join(upstream.file))
            .unwrap();
        let lines = facts::of(&compiler.descriptor_pool());
        let path = table_path(upstream.api);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        }
        assert_same(
            upstream.api,
            &lines,
            &std::fs::read_to_string(path).unwrap(),
        );
    }
}

fn table_path(api: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/upstream/{api}.txt"))
}

/// Ours may hide more fields from debug output than the table, never fewer; all else is equal.
fn assert_same(api: &str, ours: &[String], table: &str) {
    let table: BTreeSet<&str> = table.lines().collect();
    let ours: BTreeSet<&str> = ours
        .iter()
        .map(String::as_str)
        .map(|line| {
            if table.contains(line) {
                line
            } else {
                line.trim_end_matches(facts::REDACT)
            }
        })
        .collect();
    let missing: Vec<_> = table.difference(&ours).collect();
    let added: Vec<_> = ours.difference(&table).collect();
    assert!(
        missing.is_empty() && added.is_empty(),
        "{api}: only upstream: {missing:#?}\nonly here: {added:#?}"
    );
}
