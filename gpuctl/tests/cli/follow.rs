//! Commands that go on until Ctrl-C.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::fake::FakeAgent;
use crate::fixtures;

const PATIENCE: Duration = Duration::from_secs(30);

/// A command that goes on.
struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().unwrap();
        Self {
            child,
            lines: BufReader::new(stdout).lines(),
        }
    }

    async fn line(&mut self) -> String {
        let line = timeout(PATIENCE, self.lines.next_line())
            .await
            .expect("one more line");
        line.unwrap().expect("it goes on")
    }

    fn interrupt(&self) {
        let pid = Pid::from_raw(self.child.id().unwrap().try_into().unwrap()).unwrap();
        kill_process(pid, Signal::INT).unwrap();
    }

    async fn end(mut self) -> ExitStatus {
        timeout(PATIENCE, self.child.wait())
            .await
            .expect("it ends")
            .unwrap()
    }
}

#[tokio::test]
async fn events_go_on_with_what_happens() {
    let agent = FakeAgent::start();
    let mut running = Running::start(agent.gpuctl().args(["events", "--follow", "-o", "json"]));
    for number in 1..=3 {
        let event: Value = serde_json::from_str(&running.line().await).unwrap();
        assert_eq!(event["number"], number);
    }
    agent
        .tell(proto::gpulet::Event {
            number: 4,
            ..fixtures::events()[0].clone()
        })
        .await;
    let event: Value = serde_json::from_str(&running.line().await).unwrap();
    assert_eq!(event["number"], 4);
    running.interrupt();
    assert_eq!(running.end().await.code(), Some(0));
}

#[tokio::test]
async fn the_end_of_the_agent_ends_them() {
    let agent = FakeAgent::start();
    let mut running = Running::start(agent.gpuctl().args(["events", "--follow"]));
    assert!(running.line().await.starts_with("TIME"));
    for _ in 0..3 {
        running.line().await;
    }
    agent.hang_up();
    assert_eq!(running.end().await.code(), Some(3));
}

#[tokio::test]
async fn top_comes_again() {
    let agent = FakeAgent::start();
    let mut running = Running::start(agent.gpuctl().args(["top", "-o", "json"]));
    for _ in 0..2 {
        let machine: Value = serde_json::from_str(&running.line().await).unwrap();
        assert_eq!(machine["gpus"].as_array().unwrap().len(), 4);
    }
    running.interrupt();
    assert_eq!(running.end().await.code(), Some(0));
}
