//! A container runtime in memory.

use std::collections::BTreeSet;
use std::time::Duration;

use agent_core::{ContainerId, Fail, ImageName, Observation, PodUid, RunState, SandboxId, Time};
use agent_loops::ports::{
    ContainerSpec, ExecOutput, ImageFacts, ListedImage, PullCredential, Runtime, RuntimeConditions,
    RuntimeEvent, RuntimeFacts, SandboxSpec,
};
use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::BoxStream;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::calls::Verb;
use crate::images;
use crate::script::OnTerm;
use crate::state::{Aftermath, Container, Sandbox, State};
use crate::world::{World, gone};

/// Events that may wait in one stream: a burst of all pods of a rehearsal.
const EVENTS: usize = 1024;

/// The runtime as one life of the agent sees it.
#[derive(Debug)]
pub(crate) struct FakeRuntime {
    pub(crate) world: World,
    pub(crate) life: u32,
}

impl FakeRuntime {
    fn owner(&self, id: &ContainerId) -> Option<PodUid> {
        self.world.read(|state| {
            state
                .containers
                .get(id)
                .map(|container| container.uid.clone())
        })
    }

    fn sandbox_owner(&self, id: &SandboxId) -> Option<PodUid> {
        self.world
            .read(|state| state.sandboxes.get(id).map(|sandbox| sandbox.uid.clone()))
    }

    /// Waits until a container does not run any more.
    async fn ended(&self, id: &ContainerId) {
        let mut changes = self.world.changes();
        let runs = |state: &State| {
            state
                .containers
                .get(id)
                .is_some_and(|each| each.state == RunState::Running)
        };
        while self.world.read(runs) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}

#[async_trait]
impl Runtime for FakeRuntime {
    async fn facts(&self) -> Result<RuntimeFacts, Fail> {
        let (name, version) = ("rehearsal".to_owned(), "0".to_owned());
        Ok(RuntimeFacts {
            name,
            version,
            cdi: true,
            cgroup_driver: None,
            handlers: Vec::new(),
            supplemental_groups_policy: None,
        })
    }

    async fn conditions(&self) -> Result<RuntimeConditions, Fail> {
        Ok(RuntimeConditions::default())
    }

    async fn run_sandbox(&self, spec: &SandboxSpec) -> Result<SandboxId, Fail> {
        let want = &spec.pod.want;
        let effect = |state: &mut State, now| make_sandbox(state, spec, now);
        self.world
            .call(self.life, Verb::RunSandbox, Some(&want.uid), effect)
            .await
    }

    async fn stop_sandbox(&self, id: &SandboxId) -> Result<(), Fail> {
        let uid = self.sandbox_owner(id);
        let effect = |state: &mut State, _| {
            let Some(sandbox) = state.sandboxes.get_mut(id) else {
                return Ok(());
            };
            sandbox.ready = false;
            let uid = sandbox.uid.clone();
            let inside = state
                .containers
                .iter()
                .filter(|(_, each)| each.sandbox == *id);
            let inside = inside.map(|(id, _)| Aftermath::Exit(id.clone(), Duration::ZERO, 137));
            state.aftermath.extend(inside);
            state.aftermath.push(Aftermath::Event(uid, id.clone()));
            Ok(())
        };
        self.world
            .call(self.life, Verb::StopSandbox, uid.as_ref(), effect)
            .await
    }

    async fn remove_sandbox(&self, id: &SandboxId) -> Result<(), Fail> {
        let uid = self.sandbox_owner(id);
        let effect = |state: &mut State, now: Time| {
            if state.sandboxes.get(id).is_some_and(|sandbox| sandbox.ready) {
                state.violations.push(format!(
                    "{now:?}: sandbox {id} is removed before it is stopped"
                ));
            }
            let removed = state.sandboxes.remove(id);
            state
                .containers
                .retain(|_, container| container.sandbox != *id);
            state
                .aftermath
                .extend(removed.map(|sandbox| Aftermath::Removal(sandbox.uid)));
            Ok(())
        };
        self.world
            .call(self.life, Verb::RemoveSandbox, uid.as_ref(), effect)
            .await
    }

    async fn create_container(&self, spec: &ContainerSpec) -> Result<ContainerId, Fail> {
        let uid = &spec.pod.want.uid;
        let effect = |state: &mut State, now| make_container(state, spec, now);
        self.world
            .call(self.life, Verb::CreateContainer, Some(uid), effect)
            .await
    }

    async fn start_container(&self, id: &ContainerId) -> Result<(), Fail> {
        let uid = self.owner(id);
        let effect = |state: &mut State, now| start(state, id, now);
        self.world
            .call(self.life, Verb::StartContainer, uid.as_ref(), effect)
            .await
    }

    async fn stop_container(&self, id: &ContainerId, grace: Duration) -> Result<(), Fail> {
        let uid = self.owner(id);
        let effect = |state: &mut State, _| {
            let container = state
                .containers
                .get_mut(id)
                .ok_or_else(|| gone("container"))?;
            if container.state == RunState::Created {
                container.state = RunState::Exited;
                return Ok(());
            }
            let first = !std::mem::replace(&mut container.terminating, true);
            if let OnTerm::Ends(after) = container.script.on_term
                && first
            {
                state.aftermath.push(Aftermath::Exit(id.clone(), after, 0));
            }
            Ok(())
        };
        self.world
            .call(self.life, Verb::StopContainer, uid.as_ref(), effect)
            .await?;
        if tokio::time::timeout(grace, self.ended(id)).await.is_err() {
            self.world.exit(id, 137);
        }
        Ok(())
    }

    async fn remove_container(&self, id: &ContainerId) -> Result<(), Fail> {
        let uid = self.owner(id);
        let effect = |state: &mut State, now: Time| {
            let Some(removed) = state.containers.remove(id) else {
                return Ok(());
            };
            if removed.state == RunState::Running {
                state
                    .violations
                    .push(format!("{now:?}: container {id} is removed while it runs"));
            }
            state.aftermath.push(Aftermath::Removal(removed.uid));
            Ok(())
        };
        self.world
            .call(self.life, Verb::RemoveContainer, uid.as_ref(), effect)
            .await
    }

    async fn image(&self, image: &ImageName) -> Result<Option<ImageFacts>, Fail> {
        let effect =
            |state: &mut State, _| Ok(state.images.contains(image).then(|| images::facts(image)));
        self.world.call(self.life, Verb::Image, None, effect).await
    }

    async fn images(&self) -> Result<Vec<ListedImage>, Fail> {
        Ok(self.world.read(images::list))
    }

    async fn pull(
        &self,
        image: &ImageName,
        credential: Option<&PullCredential>,
    ) -> Result<ImageFacts, Fail> {
        let password = credential.map_or("", |credential| &credential.password);
        let effect = |state: &mut State, _| images::pull(state, image, password);
        self.world.call(self.life, Verb::Pull, None, effect).await
    }

    async fn exec(
        &self,
        id: &ContainerId,
        command: &[String],
        timeout: Duration,
    ) -> Result<ExecOutput, Fail> {
        let uid = self.owner(id);
        let effect = |state: &mut State, _| {
            let container = state.containers.get(id).ok_or_else(|| gone("container"))?;
            if container.state != RunState::Running {
                return Err(Fail::permanent("ExecError", "the container does not run"));
            }
            let word = command.first().map(String::as_str).unwrap_or_default();
            Ok(container
                .script
                .commands
                .get(word)
                .copied()
                .unwrap_or_default())
        };
        let (takes, code) = self
            .world
            .call(self.life, Verb::Exec, uid.as_ref(), effect)
            .await?;
        let output = format!("{} says {code}", command.join(" "));
        match tokio::time::timeout(timeout, tokio::time::sleep(takes)).await {
            Ok(()) => Ok(ExecOutput { code, output }),
            Err(_) => Ok(ExecOutput {
                code: -1,
                output: "timed out".to_owned(),
            }),
        }
    }

    async fn reopen_log(&self, id: &ContainerId) -> Result<(), Fail> {
        let uid = self.owner(id);
        self.world
            .call(self.life, Verb::ReopenLog, uid.as_ref(), |_, _| Ok(()))
            .await
    }

    async fn list(&self) -> Result<Vec<Observation>, Fail> {
        // As old as a listing can be: what happens while it is under way is missing from it.
        let at = self.world.clock.now();
        let pods = self.world.read(|state| {
            let sandboxes = state.sandboxes.values().map(|each| &each.uid);
            let containers = state.containers.values().map(|each| &each.uid);
            let uids: BTreeSet<_> = sandboxes.chain(containers).collect();
            let look = |uid| state.look(uid, at, false, None);
            uids.into_iter().map(look).collect()
        });
        let effect = |_: &mut State, _| Ok(pods);
        self.world.call(self.life, Verb::List, None, effect).await
    }

    async fn observe(&self, uid: &PodUid) -> Result<Observation, Fail> {
        let at = self.world.clock.now();
        let effect = |state: &mut State, _| Ok(state.look(uid, at, true, None));
        self.world
            .call(self.life, Verb::Observe, Some(uid), effect)
            .await
    }

    async fn events(&self) -> Result<BoxStream<'static, Result<RuntimeEvent, Fail>>, Fail> {
        let effect = |state: &mut State, _| {
            if !state.weather.supported {
                return Err(Fail::permanent(
                    "Unimplemented",
                    "this runtime has no events",
                ));
            }
            let (sender, receiver) = mpsc::channel(EVENTS);
            state.listeners.push(sender);
            Ok(ReceiverStream::new(receiver).boxed())
        };
        self.world.call(self.life, Verb::Events, None, effect).await
    }
}

fn make_sandbox(state: &mut State, spec: &SandboxSpec, now: Time) -> Result<SandboxId, Fail> {
    let want = &spec.pod.want;
    let taken = |each: &&Sandbox| each.uid == want.uid && each.attempt == spec.attempt;
    if let Some(taken) = state.sandboxes.values().find(taken) {
        let message = format!("name of attempt {} is reserved", taken.attempt);
        return Err(Fail::retry("RunPodSandboxError", message));
    }
    let id = SandboxId::new(state.fresh_id("sandbox"));
    let sandbox = Sandbox {
        uid: want.uid.clone(),
        name: want.name.clone(),
        attempt: spec.attempt,
        ready: true,
        created_at: now,
        host: want.host_network,
        ip: format!("10.0.0.{}", state.next_id),
    };
    state.sandboxes.insert(id.clone(), sandbox);
    state
        .aftermath
        .push(Aftermath::Event(want.uid.clone(), id.clone()));
    state.logs.insert(want.uid.clone());
    Ok(id)
}

fn make_container(state: &mut State, spec: &ContainerSpec, now: Time) -> Result<ContainerId, Fail> {
    let (uid, name) = (&spec.pod.want.uid, &spec.container);
    let sandbox = state
        .sandboxes
        .get(&spec.sandbox)
        .ok_or_else(|| gone("sandbox"))?;
    if !sandbox.ready {
        return Err(Fail::retry(
            "CreateContainerError",
            "the sandbox is not running",
        ));
    }
    images::check(state, spec, now)?;
    let taken =
        |each: &&Container| each.uid == *uid && each.name == *name && each.attempt == spec.attempt;
    if state.containers.values().any(|each| taken(&each)) {
        return Err(Fail::retry("CreateContainerError", "the name is reserved"));
    }
    let held = state.held.get(uid).map(Vec::as_slice).unwrap_or_default();
    if let Some(grant) = spec.grants.iter().find(|grant| !held.contains(grant)) {
        let what = format!("{now:?}: {name} of {uid} gets {grant:?} without holding it");
        state.violations.push(what);
    }
    let wanted = spec.pod.want.init.iter().chain(&spec.pod.want.containers);
    let hash = wanted
        .filter(|each| each.name == *name)
        .map(|each| each.hash.clone())
        .next();
    let id = ContainerId::new(state.fresh_id("container"));
    let container = Container {
        uid: uid.clone(),
        name: name.clone(),
        attempt: spec.attempt,
        sandbox: spec.sandbox.clone(),
        hash: hash.unwrap_or_default(),
        state: RunState::Created,
        created_at: now,
        started_at: None,
        exit: None,
        script: state.script(name, spec.attempt),
        terminating: false,
    };
    state.containers.insert(id.clone(), container);
    state
        .aftermath
        .push(Aftermath::Event(uid.clone(), spec.sandbox.clone()));
    Ok(id)
}

fn start(state: &mut State, id: &ContainerId, now: Time) -> Result<(), Fail> {
    let container = state
        .containers
        .get_mut(id)
        .ok_or_else(|| gone("container"))?;
    if container.state != RunState::Created {
        return Err(Fail::retry(
            "RunContainerError",
            "the container was started before",
        ));
    }
    container.state = RunState::Running;
    container.started_at = Some(now);
    let event = Aftermath::Event(container.uid.clone(), container.sandbox.clone());
    let ends = container
        .script
        .ends
        .map(|(after, code)| Aftermath::Exit(id.clone(), after, code));
    state.aftermath.push(event);
    state.aftermath.extend(ends);
    Ok(())
}
