//! The runtime and the holder of devices.

use agent_core::{
    Action, ContainerHave, ContainerId, ContainerName, DeviceState, Exit, Fail, Observation,
    Outcome, PodHave, PodName, PodUid, Recovered, RunState, SandboxHave, SandboxId, SandboxNetwork,
    Time,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Created,
    Running,
    Exited(i32),
}

#[derive(Clone, Debug)]
pub(crate) struct Container {
    pub(crate) id: ContainerId,
    pub(crate) name: ContainerName,
    pub(crate) attempt: u32,
    pub(crate) sandbox: SandboxId,
    pub(crate) state: State,
    pub(crate) made_at: Time,
    pub(crate) ended_at: Time,
}

#[derive(Clone, Debug)]
pub(crate) struct Sandbox {
    pub(crate) id: SandboxId,
    pub(crate) attempt: u32,
    pub(crate) ready: bool,
    pub(crate) made_at: Time,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Runtime {
    pub(crate) sandboxes: Vec<Sandbox>,
    pub(crate) containers: Vec<Container>,
    pub(crate) devices_held: bool,
    pub(crate) devices_free: bool,
    pub(crate) host_dirty: bool,
    pub(crate) logs: bool,
    pub(crate) calls: usize,
    ids: u32,
}

impl Runtime {
    pub(crate) fn new() -> Self {
        Self {
            devices_free: true,
            ..Self::default()
        }
    }

    pub(crate) fn live(&self) -> usize {
        self.containers
            .iter()
            .filter(|each| each.state == State::Running)
            .count()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sandboxes.is_empty() && self.containers.is_empty()
    }

    /// Carries out an action.
    pub(crate) fn act(&mut self, action: &Action, now: Time) -> Outcome {
        self.calls += 1;
        match action {
            Action::HoldDevices => {
                self.devices_held |= self.devices_free;
                Outcome::Devices(if self.devices_held {
                    DeviceState::Held
                } else {
                    DeviceState::Waiting {
                        reason: "Busy",
                        message: "busy".into(),
                    }
                })
            }
            Action::ReleaseDevices => {
                assert_eq!(self.live(), 0, "devices released under a running container");
                self.devices_held = false;
                Outcome::Done
            }
            Action::PrepareHost | Action::RefreshVolumes => {
                (self.host_dirty, self.logs) = (true, true);
                Outcome::Prepared { refresh_at: None }
            }
            Action::CleanHost => {
                assert_eq!(self.live(), 0, "host cleaned under a running container");
                self.host_dirty = false;
                Outcome::Done
            }
            Action::RemoveLogs => {
                self.logs = false;
                Outcome::Done
            }
            Action::EnsureImage { .. } => Outcome::Image("image".into()),
            Action::ReadTermination { .. } => Outcome::Text("bye".into()),
            Action::InspectPod => Outcome::Observed(Box::new(self.look(now, true, true))),
            Action::PostStart { id, .. } | Action::PreStop { id, .. } => {
                match self.container(id).map(|each| each.state) {
                    Some(State::Running) => Outcome::Done,
                    _ => Outcome::Failed(Fail::gone("HookError", "not running")),
                }
            }
            _ => self.call(action, now),
        }
    }

    fn call(&mut self, action: &Action, now: Time) -> Outcome {
        match action {
            Action::CreateSandbox { attempt } => {
                if self.sandboxes.iter().any(|each| each.attempt == *attempt) {
                    return Outcome::Failed(Fail::permanent("FailedCreatePodSandBox", "reserved"));
                }
                let id = SandboxId::new(format!("sandbox-{}", self.next_id()));
                let made = Sandbox {
                    id: id.clone(),
                    attempt: *attempt,
                    ready: true,
                    made_at: now,
                };
                self.sandboxes.push(made);
                Outcome::Sandbox(id)
            }
            Action::CreateContainer {
                container,
                attempt,
                sandbox,
            } => self.create(container, *attempt, sandbox, now),
            Action::StartContainer { id, .. } => self.start(id, now),
            Action::StopContainer { id, .. } => match self.container(id) {
                None => Outcome::Failed(Fail::gone("KillContainerError", "not found")),
                Some(each) => {
                    each.end(143, now);
                    Outcome::Done
                }
            },
            Action::RemoveContainer { id, .. } | Action::ClearContainer { id, .. } => {
                let before = self.containers.len();
                self.containers.retain(|each| each.id != *id);
                if self.containers.len() == before {
                    return Outcome::Failed(Fail::gone("RemoveContainerError", "not found"));
                }
                Outcome::Done
            }
            Action::StopSandbox { id } => {
                if !self.stop_sandbox(id, now) {
                    return Outcome::Failed(Fail::gone("KillPodSandboxError", "not found"));
                }
                Outcome::Done
            }
            Action::RemoveSandbox { id } => {
                self.sandboxes.retain(|each| each.id != *id);
                self.containers.retain(|each| each.sandbox != *id);
                Outcome::Done
            }
            other => panic!("{other:?} is no call"),
        }
    }

    fn create(
        &mut self,
        name: &ContainerName,
        attempt: u32,
        sandbox: &SandboxId,
        now: Time,
    ) -> Outcome {
        match self
            .sandboxes
            .iter()
            .find(|each| each.id == *sandbox)
            .map(|each| each.ready)
        {
            None => return Outcome::Failed(Fail::gone("CreateContainerError", "no sandbox")),
            Some(false) => {
                return Outcome::Failed(Fail::retry("CreateContainerError", "sandbox not ready"));
            }
            Some(true) => {}
        }
        if self
            .containers
            .iter()
            .any(|each| each.name == *name && each.attempt == attempt)
        {
            return Outcome::Failed(Fail::permanent("CreateContainerError", "reserved"));
        }
        let id = ContainerId::new(format!("{name}-{}", self.next_id()));
        self.containers.push(Container {
            id: id.clone(),
            name: name.clone(),
            attempt,
            sandbox: sandbox.clone(),
            state: State::Created,
            made_at: now,
            ended_at: now,
        });
        Outcome::Container(id)
    }

    fn start(&mut self, id: &ContainerId, now: Time) -> Outcome {
        let fail = |kind: fn(&'static str, &'static str) -> Fail, text| {
            Outcome::Failed(kind("RunContainerError", text))
        };
        let Some(found) = self.containers.iter().find(|each| each.id == *id) else {
            return fail(Fail::gone, "not found");
        };
        let (state, sandbox) = (found.state, found.sandbox.clone());
        let ready = self
            .sandboxes
            .iter()
            .any(|each| each.id == sandbox && each.ready);
        let name = found.name.clone();
        if state != State::Created {
            return fail(Fail::permanent, "not in created state");
        }
        let live = |each: &&Container| each.name == name && each.state == State::Running;
        assert_eq!(
            self.containers.iter().find(live).map(|each| &each.id),
            None,
            "two of {name} live"
        );
        let Some(container) = self.container(id) else {
            return Outcome::Done;
        };
        if !ready {
            container.state = State::Exited(128);
            container.ended_at = now;
            return fail(Fail::permanent, "sandbox is dead");
        }
        container.state = State::Running;
        assert!(self.host_dirty, "started on a host that is not prepared");
        Outcome::Done
    }

    /// The sandbox's processes end. False: there is none.
    pub(crate) fn stop_sandbox(&mut self, id: &SandboxId, now: Time) -> bool {
        let Some(sandbox) = self.sandboxes.iter_mut().find(|each| each.id == *id) else {
            return false;
        };
        sandbox.ready = false;
        for container in self
            .containers
            .iter_mut()
            .filter(|each| each.sandbox == *id)
        {
            container.end(137, now);
        }
        true
    }

    pub(crate) fn container(&mut self, id: &ContainerId) -> Option<&mut Container> {
        self.containers.iter_mut().find(|each| each.id == *id)
    }

    fn next_id(&mut self) -> u32 {
        self.ids += 1;
        self.ids
    }

    /// What it shows: with network and exit details or without, of everything or of one container.
    pub(crate) fn look(&self, at: Time, details: bool, whole: bool) -> Observation {
        let newest = self.containers.iter().max_by_key(|each| each.made_at);
        let shown = self
            .containers
            .iter()
            .filter(|each| whole || newest.is_some_and(|newest| newest.id == each.id));
        let mut sandboxes: Vec<SandboxHave> = self
            .sandboxes
            .iter()
            .map(|each| SandboxHave {
                id: each.id.clone(),
                attempt: each.attempt,
                ready: each.ready,
                created_at: each.made_at,
                network: details.then(|| SandboxNetwork {
                    host: false,
                    ips: vec!["10.0.0.9".into()],
                }),
            })
            .collect();
        sandboxes.sort_by_key(|each| std::cmp::Reverse(each.attempt));
        let have = PodHave {
            sandboxes,
            containers: shown.map(|each| each.have(details)).collect(),
        };
        let (uid, name) = (PodUid::new("uid"), PodName::new("default", "pod"));
        Observation {
            uid,
            name,
            at,
            have,
            whole,
        }
    }
}

impl Container {
    pub(crate) fn end(&mut self, code: i32, now: Time) {
        if self.state == State::Running {
            self.state = State::Exited(code);
            self.ended_at = now;
        }
    }

    fn have(&self, details: bool) -> ContainerHave {
        let exit = match self.state {
            State::Exited(code) if details => Some(Exit {
                code,
                reason: if code == 0 { "Completed" } else { "Error" }.into(),
                message: String::new(),
                finished_at: self.ended_at,
            }),
            _ => None,
        };
        ContainerHave {
            id: self.id.clone(),
            name: self.name.clone(),
            sandbox: Some(self.sandbox.clone()),
            attempt: self.attempt,
            hash: "hash".into(),
            state: match self.state {
                State::Created => RunState::Created,
                State::Running => RunState::Running,
                State::Exited(_) => RunState::Exited,
            },
            created_at: self.made_at,
            started_at: (self.state != State::Created).then_some(self.made_at),
            exit,
            image_id: "sha256:1".into(),
            user: None,
            recovered: Recovered::default(),
        }
    }
}
