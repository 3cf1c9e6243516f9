//! The repository keeps its own rules.

use base_tidy::{
    SourceFile, check_comments_on_dependencies, check_direction, check_lengths, check_module_docs,
    check_names, check_paths, dependencies, root, sources,
};

/// Files that may be longer, and why. The list only ever shrinks.
const LONG_FILES: &[(&str, &str)] = &[];

/// Crates that may hold `unsafe` code.
const UNSAFE_ROOMS: &[&str] = &["gpu/nvml/", "gpu/sim/"];

fn assert_none(findings: &[String]) {
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}

fn rust() -> Vec<SourceFile> {
    let files = sources(&[".rs"]);
    assert!(files.len() > 20, "the work tree was not found");
    files
}

#[test]
fn dependencies_point_down() {
    let (dependencies, crates) = dependencies().expect("cargo metadata");
    assert!(
        crates.iter().any(|name| name == "agent-core"),
        "the workspace was not read"
    );
    assert_none(&check_direction(&dependencies, &crates));
}

#[test]
fn files_are_short() {
    assert_none(&check_lengths(&rust(), LONG_FILES));
}

#[test]
fn files_say_what_they_are_for() {
    assert_none(&check_module_docs(&rust()));
}

#[test]
fn types_have_telling_names() {
    assert_none(&check_names(&rust()));
}

#[test]
fn dependencies_have_reasons() {
    assert_none(&check_comments_on_dependencies(&sources(&["Cargo.toml"])));
}

#[test]
fn documents_name_paths_that_exist() {
    let documents = sources(&[".md"]);
    assert!(
        documents.iter().any(|file| file.path == "README.md"),
        "there is no README.md"
    );
    assert_none(&check_paths(&root(), &documents));
}

#[test]
fn unsafe_code_has_two_addresses() {
    let allowing = ["allow(", "unsafe_code"].concat();
    let findings: Vec<_> = rust()
        .iter()
        .filter(|file| !UNSAFE_ROOMS.iter().any(|room| file.path.starts_with(room)))
        .filter(|file| !file.path.starts_with("base/tidy/"))
        .filter(|file| file.text.contains(&allowing))
        .map(|file| {
            format!(
                "{}: unsafe code belongs into gpu/nvml or gpu/sim",
                file.path
            )
        })
        .collect();
    assert_none(&findings);
}

#[test]
fn nothing_is_left_open() {
    let marks = [["todo", "!("].concat(), ["unimplemented", "!("].concat()];
    let findings: Vec<_> = rust()
        .iter()
        .filter(|file| marks.iter().any(|mark| file.text.contains(mark.as_str())))
        .map(|file| format!("{}: finish it or take it out", file.path))
        .collect();
    assert_none(&findings);
}
