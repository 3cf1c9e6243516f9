#![allow(clippy::unwrap_used, clippy::panic)]

mod checks;
mod pods;

use std::path::Path;

use super::{ManifestError, Origin, Parsed, parse};

fn read(text: &str) -> Result<Parsed, ManifestError> {
    parse(
        text.as_bytes(),
        Origin {
            path: Path::new("/manifests/web.yaml"),
            node: "Node-1",
        },
    )
}

/// A pod with `spec` as the rest of its specification, indented by two blanks.
fn with_spec(spec: &str) -> String {
    format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\nspec:\n{spec}")
}

/// A pod with one container named `main` and `fields` of it, indented by four blanks.
fn with_container(fields: &str) -> String {
    with_spec(&format!(
        "  containers:\n  - name: main\n    image: busybox:1\n{fields}"
    ))
}
