//! Everything that a manifest folder can hold and a pod cannot be made from: each gives one clear message that names
//! the file or field, in the log, in the events and in what gpuctl asks; everything else goes on.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use e2e::{Api, Node, STAY, Setup, container, full_name, pod, staying, until};
use proto::gpulet::Event;
use serde_json::json;

use super::{POD_LIMIT, running, told};

/// The greatest manifest that a kubelet reads is 10 MiB.
const TOO_LARGE: u64 = 10 * 1024 * 1024 + 1;

/// File name in the manifest folder, how it is made, words that the one message about it must have.
type Bad = (
    &'static str,
    fn(&Path) -> Result<()>,
    &'static [&'static str],
);

const BAD: &[Bad] = &[
    ("broken.yaml", broken, &["broken.yaml", "line"]),
    (
        "no-containers.yaml",
        no_containers,
        &["no-containers.yaml", "containers"],
    ),
    (
        "wrong-field.yaml",
        wrong_field,
        &["wrong-field.yaml", "restartPolicy"],
    ),
    ("taken.yaml", taken, &["taken.yaml", "good.yaml"]),
    ("large.yaml", large, &["large.yaml", "10 MiB"]),
    ("pipe.yaml", pipe, &["pipe.yaml", "FIFO"]),
    ("folder.yaml", folder, &["folder.yaml", "must be a file"]),
    ("dangling.yaml", dangling, &["dangling.yaml"]),
];

pub(super) async fn run() -> Result<()> {
    let node = Node::with_agent(Setup::with_gpus("h200x8")?).await?;
    node.agent.apply("good", &staying("good", 1))?;
    running(&node, "good").await?;
    let before = node.cri().seen().await?;
    let api = node.agent.api()?;

    for (name, make, words) in BAD {
        make(&node.agent.manifests().join(name)).with_context(|| format!("making {name}"))?;
        said(&node, &api, name, words)
            .await
            .with_context(|| format!("about {name}"))?;
    }
    pods_that_cannot_run(&node).await?;
    turns_invalid(&node, &api).await?;

    // Beside all of this the running pod is untouched and a new one starts.
    ensure!(
        node.cri()
            .seen()
            .await?
            .iter()
            .any(|seen| before.contains(seen)),
        "{before:?}"
    );
    node.agent.apply("late", &staying("late", 1))?;
    running(&node, "late").await?;
    solved(&node, &api).await?;
    node.finish().await
}

/// The message about `name` stands once in the log, once in the events, and among the node's present problems.
async fn said(node: &Node, api: &Api, name: &str, words: &[&str]) -> Result<()> {
    let has_all = |text: &str| words.iter().all(|word| text.contains(word));
    until("the message", POD_LIMIT, async || {
        let problems = api.node().await?.problems;
        let problem = problems
            .iter()
            .find(|p| p.subject.contains(name))
            .context("no problem")?;
        let text = format!("{} {}", problem.subject, problem.message);
        ensure!(
            has_all(&text),
            "the problem lacks some of {words:?}: {text}"
        );
        Ok(())
    })
    .await?;
    let events = api.events().await?.into_iter();
    let about = |event: &Event| has_all(&format!("{} {}", event.subject, event.message));
    let events: Vec<_> = events.filter(about).collect();
    ensure!(
        events.len() == 1 && events.iter().all(|e| e.r#type == "Warning"),
        "{events:?}"
    );
    let log = node.agent.log();
    let lines = log
        .lines()
        .filter(|line| line.contains("WARN") || line.contains("ERROR"));
    let lines: Vec<_> = lines.filter(|line| line.contains(name)).collect();
    ensure!(
        lines.len() == 1 && has_all(lines[0]),
        "lines of the log: {lines:#?}"
    );
    // Its exit code tells of other things as well.
    let status = node.agent.gpuctl(&["status"])?;
    let status = String::from_utf8_lossy(&status.stdout);
    ensure!(
        status.contains(name),
        "gpuctl status does not show it: {status}"
    );
    Ok(())
}

/// Good manifests of pods that cannot run here: more GPUs than there are, an image that is nowhere.
async fn pods_that_cannot_run(node: &Node) -> Result<()> {
    node.agent.apply("nine", &staying("nine", 9))?;
    let nine = told(
        node,
        "nine",
        &["Pending", "DevicesInsufficient", "9 GPUs", "8"],
    )
    .await?;
    let why = node.agent.gpuctl_text(&["explain", "pod", &nine.name])?;
    ensure!(why.contains("9 GPUs are asked for"), "{why}");

    let image = "localhost/nowhere:1";
    let main = container(
        "main",
        STAY,
        json!({ "image": image, "imagePullPolicy": "Never" }),
    );
    node.agent
        .apply("nowhere", &pod("nowhere", json!({ "containers": [main] })))?;
    told(node, "nowhere", &["Pending", "ErrImageNeverPull", image]).await?;
    Ok(())
}

/// A running pod's manifest becomes rubbish: the pod goes on, the error is shown.
async fn turns_invalid(node: &Node, api: &Api) -> Result<()> {
    let before = node.cri().running(&full_name("good"), "main").await?.id;
    fs::write(node.agent.manifests().join("good.yaml"), "kind: [Pod\n")?;
    until("the message about good.yaml", POD_LIMIT, async || {
        let problems = api.node().await?.problems;
        ensure!(
            problems.iter().any(|p| p.subject.contains("good.yaml")),
            "{problems:?}"
        );
        Ok(())
    })
    .await?;
    told(node, "good", &["Running"]).await?;
    ensure!(node.cri().running(&full_name("good"), "main").await?.id == before);
    node.agent.apply("good", &staying("good", 1))?;
    until("the end of the problem", POD_LIMIT, async || {
        let problems = api.node().await?.problems;
        ensure!(
            !problems.iter().any(|p| p.subject.contains("good.yaml")),
            "{problems:?}"
        );
        Ok(())
    })
    .await?;
    ensure!(node.cri().running(&full_name("good"), "main").await?.id == before);
    Ok(())
}

/// When the bad files go, so do the problems.
async fn solved(node: &Node, api: &Api) -> Result<()> {
    for (name, ..) in BAD {
        let path = node.agent.manifests().join(name);
        if path.is_dir() {
            fs::remove_dir_all(path)?
        } else {
            fs::remove_file(path)?
        }
    }
    until("the end of all problems", POD_LIMIT, async || {
        let problems = api.node().await?.problems;
        let about_files = problems
            .iter()
            .any(|p| BAD.iter().any(|(n, ..)| p.subject.contains(n)));
        ensure!(!about_files, "{problems:?}");
        Ok(())
    })
    .await
}

fn broken(path: &Path) -> Result<()> {
    Ok(fs::write(
        path,
        "apiVersion: v1\nkind: Pod\nmetadata: {name: broken\nspec:\n  - [\n",
    )?)
}

fn no_containers(path: &Path) -> Result<()> {
    Ok(fs::write(
        path,
        pod("no-containers", json!({ "containers": [] })),
    )?)
}

fn wrong_field(path: &Path) -> Result<()> {
    let spec =
        json!({ "restartPolicy": "Sometimes", "containers": [container("main", STAY, json!({}))] });
    Ok(fs::write(path, pod("wrong-field", spec))?)
}

fn taken(path: &Path) -> Result<()> {
    Ok(fs::write(path, staying("good", 0))?)
}

fn large(path: &Path) -> Result<()> {
    let hidden = path.with_file_name(".large");
    File::create(&hidden)?.set_len(TOO_LARGE)?;
    Ok(fs::rename(hidden, path)?)
}

fn pipe(path: &Path) -> Result<()> {
    ensure!(Command::new("mkfifo").arg(path).status()?.success());
    Ok(())
}

fn folder(path: &Path) -> Result<()> {
    Ok(fs::create_dir(path)?)
}

fn dangling(path: &Path) -> Result<()> {
    Ok(symlink("nowhere", path)?)
}
