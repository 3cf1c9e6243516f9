//! postStart runs beside the container's start, preStop before its SIGTERM; a postStart that fails ends the container.

use anyhow::{Result, ensure};
use e2e::{Node, container, pod, until};
use serde_json::{Value, json};

use super::Diary;
use crate::scenarios::{POD_LIMIT, gone, running, told};

pub(super) async fn check(node: &Node) -> Result<()> {
    let diary = Diary::new(node, "hooks")?;
    let more = json!({
        "volumeMounts": [Diary::mount()],
        "lifecycle": {
            "postStart": exec("echo postStart >> /diary"),
            "preStop": exec("echo preStop >> /diary"),
        },
    });
    let line = "trap 'echo TERM >> /diary; exit 0' TERM; while :; do sleep 3600 & wait; done";
    let spec =
        json!({ "volumes": [diary.volume()], "containers": [container("main", line, more)] });
    node.agent.apply("hooked", &pod("hooked", spec))?;
    running(node, "hooked").await?;
    diary.reads(&["postStart"]).await?;
    node.agent.remove("hooked")?;
    gone(node, "hooked").await?;
    ensure!(
        diary.lines()? == ["postStart", "preStop", "TERM"],
        "{:?}",
        diary.lines()?
    );

    let more = json!({ "lifecycle": { "postStart": exec("echo no luck; exit 3") } });
    let spec = json!({ "containers": [container("main", "trap 'exit 5' TERM; while :; do sleep 3600 & wait; done", more)], "restartPolicy": "Never" });
    node.agent.apply("unlucky", &pod("unlucky", spec))?;
    told(node, "unlucky", &["Failed"]).await?;
    let api = node.agent.api()?;
    until("the event of the failed hook", POD_LIMIT, async || {
        let events = api.events().await?;
        ensure!(
            events
                .iter()
                .any(|event| event.reason == "FailedPostStartHook"),
            "{events:?}"
        );
        Ok(())
    })
    .await?;
    node.agent.remove("unlucky")
}

fn exec(line: &str) -> Value {
    json!({ "exec": { "command": ["/bin/sh", "-c", line] } })
}
