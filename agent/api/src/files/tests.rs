#![allow(clippy::unwrap_used, clippy::panic)]

mod following;
mod scanning;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agent_loops::ports::SourceSnapshot;

use super::FileSourceSettings;

/// A folder for manifests and a place for the record, both removed at the end.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("manifests")).unwrap();
        Self { folder }
    }

    fn manifests(&self) -> PathBuf {
        self.folder.path().join("manifests")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.manifests().join(name)
    }

    fn record(&self) -> PathBuf {
        self.folder.path().join("state/manifests.json")
    }

    fn settings(&self) -> FileSourceSettings {
        FileSourceSettings {
            path: self.manifests(),
            node: "n".to_owned(),
            // Longer than any test: what is seen is seen by events.
            period: Duration::from_secs(3600),
            record: self.record(),
        }
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.file(file), text).unwrap();
    }
}

/// A pod that sleeps.
fn pod(name: &str, image: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n  containers: [{{name: a, image: '{image}'}}]\n"
    )
}

/// Name and image of each pod.
fn pods(snapshot: &SourceSnapshot) -> Vec<String> {
    let show =
        |want: &agent_core::PodWant| format!("{} {}", want.name.name, want.containers[0].image);
    snapshot.pods.iter().map(|pod| show(&pod.want)).collect()
}

/// File, message and pod of each problem.
fn problems(snapshot: &SourceSnapshot) -> Vec<(String, String, Option<String>)> {
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    snapshot
        .problems
        .iter()
        .map(|problem| {
            let pod = problem.running_on.as_ref().map(|pod| pod.name.to_string());
            (name(&problem.path), problem.message.clone(), pod)
        })
        .collect()
}
