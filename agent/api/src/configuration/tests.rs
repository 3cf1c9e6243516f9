#![allow(clippy::unwrap_used, clippy::panic)]

mod fields;
mod layers;
mod values;

use std::fs;

use serde_json::{Value, json};

use super::{ConfigurationError, Layers, Loaded, load};

/// Loads `text` as the body of a main file.
fn load_text(text: &str) -> Result<Loaded, ConfigurationError> {
    load_with_flags(text, json!({}))
}

fn load_with_flags(text: &str, flags: Value) -> Result<Loaded, ConfigurationError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    let head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
    fs::write(&file, format!("{head}{text}")).unwrap();
    load(&Layers {
        file: Some(file),
        drop_ins: None,
        flags,
    })
}

/// The problems of a configuration that cannot be used.
fn problems(text: &str) -> Vec<String> {
    match load_text(text) {
        Err(ConfigurationError::Values(problems)) => {
            problems.iter().map(ToString::to_string).collect()
        }
        other => panic!("{text:?} gave {other:?}"),
    }
}
