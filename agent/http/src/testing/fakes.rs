//! Ports in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

use agent_core::{ContainerId, Fail, ImageName, Observation, PodUid, SandboxId};
use agent_loops::PodSnapshot;
use agent_loops::ports::{
    Access, AccessAsk, ContainerSpec, ExecOutput, Identity, ImageFacts, ListedImage,
    PullCredential, Runtime, RuntimeConditions, RuntimeEvent, RuntimeFacts, SandboxSpec, Streaming,
    Streams,
};
use async_trait::async_trait;
use futures::stream::BoxStream;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::server::PodRenderer;

/// Who has which token, and who may what. The token `broken` cannot be reviewed, and neither can what
/// the user `broken` may do.
#[derive(Debug, Default)]
pub(crate) struct FakeAccess {
    tokens: Mutex<BTreeMap<String, Identity>>,
    allowed: Mutex<BTreeSet<(String, &'static str, &'static str)>>,
    all: Mutex<BTreeSet<String>>,
    asked: Mutex<Vec<(Identity, AccessAsk)>>,
}

impl FakeAccess {
    pub(crate) fn token(&self, token: &str, name: &str) {
        let who = Identity {
            name: name.to_owned(),
            ..Identity::default()
        };
        self.tokens.lock().unwrap().insert(token.to_owned(), who);
    }

    pub(crate) fn allow(&self, name: &str, verb: &'static str, subresource: &'static str) {
        self.allowed
            .lock()
            .unwrap()
            .insert((name.to_owned(), verb, subresource));
    }

    pub(crate) fn allow_all(&self, name: &str) {
        self.all.lock().unwrap().insert(name.to_owned());
    }

    /// What was asked since the last call.
    pub(crate) fn asked(&self) -> Vec<(Identity, AccessAsk)> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

#[async_trait]
impl Access for FakeAccess {
    async fn authenticate(&self, token: &str) -> Result<Option<Identity>, Fail> {
        if token == "broken" {
            return Err(Fail::retry("TokenReview", "no answer"));
        }
        Ok(self.tokens.lock().unwrap().get(token).cloned())
    }

    async fn authorize(&self, who: &Identity, what: &AccessAsk) -> Result<bool, Fail> {
        self.asked.lock().unwrap().push((who.clone(), what.clone()));
        if who.name == "broken" {
            return Err(Fail::retry("SubjectAccessReview", "no answer"));
        }
        let one = (who.name.clone(), what.verb, what.subresource);
        Ok(self.all.lock().unwrap().contains(&who.name)
            || self.allowed.lock().unwrap().contains(&one))
    }
}

/// Answers with one address, and remembers what it was asked for.
#[derive(Debug, Default)]
pub(crate) struct FakeStreaming {
    /// `None`: every call fails with this.
    pub(crate) answer: Mutex<Option<Result<String, Fail>>>,
    pub(crate) asked: Mutex<Vec<String>>,
}

impl FakeStreaming {
    pub(crate) fn at(&self, address: impl Into<String>) {
        *self.answer.lock().unwrap() = Some(Ok(address.into()));
    }

    fn answer(&self, asked: String) -> Result<String, Fail> {
        self.asked.lock().unwrap().push(asked);
        let answer = self.answer.lock().unwrap().clone();
        answer.unwrap_or_else(|| Err(Fail::retry("ExecError", "no runtime")))
    }
}

#[async_trait]
impl Streaming for FakeStreaming {
    async fn exec(
        &self,
        container: &ContainerId,
        command: &[String],
        streams: Streams,
    ) -> Result<String, Fail> {
        self.answer(format!("exec {container} {command:?} {}", letters(streams)))
    }

    async fn attach(&self, container: &ContainerId, streams: Streams) -> Result<String, Fail> {
        self.answer(format!("attach {container} {}", letters(streams)))
    }

    async fn port_forward(&self, sandbox: &SandboxId, ports: &[i32]) -> Result<String, Fail> {
        self.answer(format!("forward {sandbox} {ports:?}"))
    }
}

fn letters(streams: Streams) -> String {
    let Streams {
        stdin,
        stdout,
        stderr,
        tty,
    } = streams;
    let all = [(stdin, 'i'), (stdout, 'o'), (stderr, 'e'), (tty, 't')];
    all.into_iter()
        .filter(|(set, _)| *set)
        .map(|(_, letter)| letter)
        .collect()
}

/// A runtime that shows what it was told to show.
#[derive(Debug, Default)]
pub(crate) struct FakeRuntime {
    pub(crate) seen: Mutex<Vec<Observation>>,
    pub(crate) output: Mutex<Option<ExecOutput>>,
    pub(crate) ran: Mutex<Vec<String>>,
}

fn not_here<T>() -> Result<T, Fail> {
    Err(Fail::permanent(
        "Unexpected",
        "the server has no use for this call",
    ))
}

#[async_trait]
impl Runtime for FakeRuntime {
    async fn facts(&self) -> Result<RuntimeFacts, Fail> {
        not_here()
    }
    async fn conditions(&self) -> Result<RuntimeConditions, Fail> {
        not_here()
    }
    async fn run_sandbox(&self, _: &SandboxSpec) -> Result<SandboxId, Fail> {
        not_here()
    }
    async fn stop_sandbox(&self, _: &SandboxId) -> Result<(), Fail> {
        not_here()
    }
    async fn remove_sandbox(&self, _: &SandboxId) -> Result<(), Fail> {
        not_here()
    }
    async fn create_container(&self, _: &ContainerSpec) -> Result<ContainerId, Fail> {
        not_here()
    }
    async fn start_container(&self, _: &ContainerId) -> Result<(), Fail> {
        not_here()
    }
    async fn stop_container(&self, _: &ContainerId, _: Duration) -> Result<(), Fail> {
        not_here()
    }
    async fn remove_container(&self, _: &ContainerId) -> Result<(), Fail> {
        not_here()
    }
    async fn image(&self, _: &ImageName) -> Result<Option<ImageFacts>, Fail> {
        not_here()
    }
    async fn images(&self) -> Result<Vec<ListedImage>, Fail> {
        not_here()
    }
    async fn pull(&self, _: &ImageName, _: Option<&PullCredential>) -> Result<ImageFacts, Fail> {
        not_here()
    }
    async fn exec(
        &self,
        id: &ContainerId,
        command: &[String],
        _: Duration,
    ) -> Result<ExecOutput, Fail> {
        self.ran.lock().unwrap().push(format!("{id} {command:?}"));
        self.output
            .lock()
            .unwrap()
            .clone()
            .map_or_else(not_here, Ok)
    }
    async fn reopen_log(&self, _: &ContainerId) -> Result<(), Fail> {
        not_here()
    }
    async fn list(&self) -> Result<Vec<Observation>, Fail> {
        Ok(self.seen.lock().unwrap().clone())
    }
    async fn observe(&self, uid: &PodUid) -> Result<Observation, Fail> {
        let seen = self.seen.lock().unwrap();
        seen.iter()
            .find(|each| each.uid == *uid)
            .cloned()
            .map_or_else(not_here, Ok)
    }
    async fn events(&self) -> Result<BoxStream<'static, Result<RuntimeEvent, Fail>>, Fail> {
        not_here()
    }
}

/// Pods by name only.
#[derive(Debug)]
pub(crate) struct Rendered;

impl PodRenderer for Rendered {
    fn pod(&self, snapshot: &PodSnapshot) -> Option<Pod> {
        snapshot.manifest.as_ref()?;
        Some(Pod {
            metadata: ObjectMeta {
                name: Some(snapshot.name.name.to_string()),
                namespace: Some(snapshot.name.namespace.to_string()),
                ..ObjectMeta::default()
            },
            ..Pod::default()
        })
    }
}
