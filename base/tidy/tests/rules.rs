//! Each rule finds what it is there to find.

use base_tidy::{
    Dependency, SourceFile, check_comments_on_dependencies, check_direction, check_lengths,
    check_module_docs, check_names, check_paths, root,
};

fn file(path: &str, text: impl Into<String>) -> SourceFile {
    SourceFile {
        path: path.to_owned(),
        text: text.into(),
    }
}

fn depends(from: &str, on: &str) -> Dependency {
    Dependency {
        from: from.to_owned(),
        on: on.to_owned(),
        for_tests: false,
    }
}

#[test]
fn direction_finds_arrows_that_point_up_or_across() {
    let crates: Vec<String> = [
        "agent-core",
        "agent-loops",
        "agent-cri",
        "agent-api",
        "gpu-model",
        "gpu-sim",
        "gpulet",
    ]
    .map(str::to_owned)
    .into();
    let wrong = [
        depends("agent-core", "agent-loops"),
        depends("agent-cri", "agent-api"),
        depends("agent-loops", "gpu-model"),
        depends("agent-core", "tokio"),
        depends("gpulet", "gpu-sim"),
    ];
    for dependency in wrong {
        let findings = check_direction(std::slice::from_ref(&dependency), &crates);
        assert_eq!(findings.len(), 1, "{dependency:?}: {findings:?}");
    }
    assert!(check_direction(&[depends("agent-cri", "agent-core")], &crates).is_empty());
    let new_room = check_direction(&[], &["kitchen".to_owned()]);
    assert_eq!(new_room.len(), 1);
}

#[test]
fn lengths_count_up_to_the_tests_and_exceptions_expire() {
    let long = "//! Doc.\n".repeat(401);
    assert_eq!(check_lengths(&[file("a/src/b.rs", &*long)], &[]).len(), 1);
    assert!(check_lengths(&[file("a/src/b.rs", &*long)], &[("a/src/b.rs", "why")]).is_empty());
    assert_eq!(
        check_lengths(&[file("a/src/b.rs", "")], &[("a/src/b.rs", "why")]).len(),
        1
    );
    assert_eq!(
        check_lengths(&[file("a/src/lib.rs", "\n".repeat(121))], &[]).len(),
        1
    );
    let tested = format!("//! Doc.\n#[cfg(test)]\nmod tests {{\n{long}}}\n");
    assert!(check_lengths(&[file("a/src/b.rs", tested)], &[]).is_empty());
    let declared = format!("//! Doc.\n#[cfg(test)]\nmod tests;\n{long}");
    assert_eq!(check_lengths(&[file("a/src/b.rs", declared)], &[]).len(), 1);
}

#[test]
fn undocumented_files_and_empty_names_are_found() {
    assert_eq!(check_module_docs(&[file("a/src/b.rs", "use x;")]).len(), 1);
    assert!(check_module_docs(&[file("a/src/b.rs", "//! What.\n")]).is_empty());
    let name = ["pub struct Pod", "Manager;"].concat();
    assert_eq!(check_names(&[file("a/src/b.rs", name)]).len(), 1);
    assert!(check_names(&[file("a/src/b.rs", "pub struct Supervisor;")]).is_empty());
}

#[test]
fn dependencies_without_reason_are_found() {
    let manifest = "[dependencies]\na = \"1\" # why\nb = \"1\"\n[lib]\nname = \"x\"\n";
    assert_eq!(
        check_comments_on_dependencies(&[file("a/Cargo.toml", manifest)]).len(),
        1
    );
}

#[test]
fn missing_paths_are_found() {
    let good = file(
        "README.md",
        "See `base/tidy` and [rules](base/tidy/src/lib.rs).",
    );
    assert!(check_paths(&root(), &[good]).is_empty());
    let bad = file(
        "README.md",
        "See `base/nothing` and [this](docs/NOTHING.md).",
    );
    assert_eq!(check_paths(&root(), &[bad]).len(), 2);
}
