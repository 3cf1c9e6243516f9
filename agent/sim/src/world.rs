//! The world outside the agent: it goes on when the agent crashes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_core::{
    ContainerId, ContainerName, Exit, Fail, FailKind, ImageName, NodeOffer, PodUid, RunState,
    SandboxId, Time,
};
use agent_loops::ports::ObjectChanges;
use agent_loops::ports::RuntimeEvent;
use agent_loops::{Clock, Doors};
use tokio::sync::watch;

use crate::asker::FakeAsker;
use crate::calls::{Call, Verb};
use crate::devices::FakeDevices;
use crate::faults::{Fault, FaultKind, Weather};
use crate::host::FakeHost;
use crate::keyring::FakeKeyring;
use crate::objects::FakeObjects;
use crate::runtime::FakeRuntime;
use crate::script::Script;
use crate::state::{Aftermath, State};

/// Deadline of a door for a call that hangs: the stock `runtimeRequestTimeout`.
const DEADLINE: Duration = Duration::from_secs(120);

/// Handle on the world; clones are the same world.
#[derive(Clone, Debug)]
pub struct World {
    /// The world's clock, which is the agent's, too.
    pub clock: Clock,
    state: Arc<Mutex<State>>,
    changed: Arc<watch::Sender<u64>>,
    pub(crate) device_changes: Arc<watch::Sender<u64>>,
    /// What the node offers, for admission.
    pub offer: Arc<watch::Sender<Option<Arc<NodeOffer>>>>,
    pub(crate) object_changes: Arc<watch::Sender<ObjectChanges>>,
    crashed: Arc<watch::Sender<bool>>,
}

impl World {
    /// An empty world with eight devices, one image, and calls that take as long as on containerd.
    pub fn new() -> Self {
        let mut state = State {
            devices: 8,
            life: 1,
            ..State::default()
        };
        state.images.insert(ImageName::new("example.com/there:1"));
        for (verb, milliseconds) in [
            (Verb::RunSandbox, 200),
            (Verb::CreateContainer, 14),
            (Verb::StartContainer, 80),
            (Verb::StopContainer, 10),
            (Verb::StopSandbox, 200),
            (Verb::RemoveSandbox, 80),
            (Verb::RemoveContainer, 20),
            (Verb::Pull, 2000),
            (Verb::Image, 1),
            (Verb::List, 2),
            (Verb::Observe, 3),
        ] {
            state
                .latency
                .insert(verb, Duration::from_millis(milliseconds));
        }
        Self {
            clock: Clock::showing(Time(1_800_000_000_000_000_000)),
            state: Arc::new(Mutex::new(state)),
            changed: Arc::default(),
            device_changes: Arc::default(),
            offer: Arc::default(),
            object_changes: Arc::default(),
            crashed: Arc::default(),
        }
    }

    /// The doors of one life of the agent.
    pub fn doors(&self) -> Doors {
        let life = self.read(|state| state.life);
        let world = || self.clone();
        Doors {
            runtime: Arc::new(FakeRuntime {
                world: world(),
                life,
            }),
            host: Arc::new(FakeHost {
                world: world(),
                life,
            }),
            devices: Arc::new(FakeDevices {
                world: world(),
                life,
            }),
            asker: Arc::new(FakeAsker { world: world() }),
            objects: Arc::new(FakeObjects { world: world() }),
            offer: self.offer.subscribe(),
            keyring: Arc::new(FakeKeyring { world: world() }),
        }
    }

    /// Looks at the world.
    pub fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.lock())
    }

    /// Changes the world from outside, as an operator or an accident would.
    pub fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.lock());
        self.tell();
        result
    }

    /// Scripts of a container by attempt; the last one counts for all later attempts.
    pub fn script(&self, container: &str, scripts: &[Script]) {
        let name = ContainerName::new(container);
        self.change(|state| state.scripts.insert(name, scripts.to_vec()));
    }

    /// Adds a fault.
    pub fn fault(&self, fault: Fault) {
        self.change(|state| state.faults.push(fault));
    }

    /// Everything works again.
    pub fn heal(&self) {
        self.change(|state| {
            state.faults.clear();
            state.runtime_down = false;
            state.weather = Weather::default();
        });
    }

    /// Sets the weather of the event stream.
    pub fn weather(&self, weather: Weather) {
        self.change(|state| state.weather = weather);
    }

    /// Sets how long a call takes.
    pub fn latency(&self, verb: Verb, latency: Duration) {
        self.change(|state| state.latency.insert(verb, latency));
    }

    /// Breaks the event streams that are open.
    pub fn break_streams(&self) {
        self.change(|state| {
            for listener in state.listeners.drain(..) {
                let _ = listener.try_send(Err(Fail::retry("StreamBroken", "the stream broke")));
            }
        });
    }

    /// The runtime goes away or comes back; containers live on.
    pub fn runtime_down(&self, down: bool) {
        if down {
            self.break_streams();
        }
        self.change(|state| state.runtime_down = down);
    }

    /// What a pod refers to has changed.
    pub fn touch_objects(&self, uid: &PodUid) {
        self.object_changes.send_modify(|changes| {
            changes.generation += 1;
            changes.pods.insert(uid.clone(), changes.generation);
        });
    }

    /// Changes the number of devices.
    pub fn set_devices(&self, devices: u32) {
        self.change(|state| state.devices = devices);
        self.device_changes.send_modify(|changes| *changes += 1);
    }

    /// A container ends by itself now.
    pub fn end(&self, id: &ContainerId, code: i32) {
        self.exit(id, code);
    }

    /// Crashes the agent at this moment: even numbers are before, odd ones after a changing call.
    pub fn crash_at(&self, moment: u32) {
        self.change(|state| state.crash_at = Some(moment));
    }

    /// Moments that have passed so far.
    pub fn moments(&self) -> u32 {
        self.read(|state| state.moments)
    }

    /// Changes whenever the world does.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Turns true when the agent is to crash.
    pub fn crashes(&self) -> watch::Receiver<bool> {
        self.crashed.subscribe()
    }

    /// The agent is dead: nothing it has begun takes effect any more.
    pub fn bury(&self) {
        self.change(|state| {
            state.life += 1;
            state.listeners.clear();
        });
        self.crashed.send_replace(false);
    }

    /// One call of the agent: counts it, lets faults happen, takes effect.
    pub(crate) async fn call<T>(
        &self,
        life: u32,
        verb: Verb,
        uid: Option<&PodUid>,
        effect: impl FnOnce(&mut State, Time) -> Result<T, Fail>,
    ) -> Result<T, Fail> {
        let call = Call {
            at: self.clock.now(),
            verb,
            uid: uid.cloned(),
        };
        self.change(|state| state.calls.push(call));
        self.moment(life, verb).await;
        let fault = self.take_fault(verb, uid);
        let late = match fault {
            Some(FaultKind::Hang) => Some(DEADLINE),
            Some(FaultKind::FailLate(after)) => Some(after),
            _ => None,
        };
        if let Some(after) = late {
            tokio::time::sleep(after).await;
            return Err(Fail::retry(
                "DeadlineExceeded",
                format!("{verb:?} took too long"),
            ));
        }
        let latency = self.read(|state| state.latency.get(&verb).copied().unwrap_or_default());
        tokio::time::sleep(latency).await;
        self.alive(life).await;
        if verb.to_runtime() && self.read(|state| state.runtime_down) {
            return Err(Fail::retry(
                "Unavailable",
                "the container runtime does not answer",
            ));
        }
        if let Some(FaultKind::Refuse(fail)) = fault {
            return Err(fail);
        }
        let now = self.clock.now();
        let (result, aftermath) = self.change(|state| {
            let result = effect(state, now);
            state.check(now);
            (result, std::mem::take(&mut state.aftermath))
        });
        aftermath.into_iter().for_each(|after| self.happen(after));
        self.moment(life, verb).await;
        match fault {
            Some(FaultKind::LoseReply(fail)) if result.is_ok() => Err(fail),
            _ => result,
        }
    }

    fn take_fault(&self, verb: Verb, uid: Option<&PodUid>) -> Option<FaultKind> {
        let mut state = self.lock();
        let fits = |fault: &&mut Fault| {
            fault.verb == verb
                && fault.times > 0
                && fault.uid.as_ref().is_none_or(|wanted| Some(wanted) == uid)
        };
        let fault = state.faults.iter_mut().find(fits)?;
        fault.times -= 1;
        Some(fault.kind.clone())
    }

    /// One moment around a changing call; the agent may crash here.
    async fn moment(&self, life: u32, verb: Verb) {
        if !verb.changes() {
            return;
        }
        self.alive(life).await;
        let crash = {
            let mut state = self.lock();
            let moment = state.moments;
            state.moments += 1;
            state.crash_at.take_if(|at| *at == moment).is_some()
        };
        if crash {
            self.change(|state| state.life += 1);
            self.crashed.send_replace(true);
            std::future::pending::<()>().await;
        }
    }

    /// A dead agent's call goes no further.
    async fn alive(&self, life: u32) {
        if self.read(|state| state.life != life) {
            std::future::pending::<()>().await;
        }
    }

    fn happen(&self, after: Aftermath) {
        match after {
            Aftermath::Event(uid, sandbox) => self.emit(&uid, &sandbox),
            Aftermath::Removal(uid) => self.send(RuntimeEvent::Touched(uid)),
            Aftermath::Exit(id, Duration::ZERO, code) => self.exit(&id, code),
            Aftermath::Exit(id, time, code) => {
                let world = self.clone();
                drop(base_daemon::spawn("container", async move {
                    tokio::time::sleep(time).await;
                    world.exit(&id, code);
                }));
            }
        }
    }

    pub(crate) fn exit(&self, id: &ContainerId, code: i32) {
        let now = self.clock.now();
        let sandbox = self.change(|state| {
            let container = state.containers.get_mut(id)?;
            if container.state != RunState::Running {
                return None;
            }
            container.state = RunState::Exited;
            let reason = if code == 0 { "Completed" } else { "Error" };
            container.exit = Some(Exit {
                code,
                reason: reason.to_owned(),
                message: String::new(),
                finished_at: now,
            });
            Some((container.uid.clone(), container.sandbox.clone()))
        });
        if let Some((uid, sandbox)) = sandbox {
            self.emit(&uid, &sandbox);
        }
    }

    /// Tells the listeners how a sandbox and its containers are now.
    fn emit(&self, uid: &PodUid, sandbox: &SandboxId) {
        let now = self.clock.now();
        let seen = self.read(|state| state.look(uid, now, true, Some(sandbox)));
        self.send(RuntimeEvent::Observed(Box::new(seen)));
    }

    fn send(&self, event: RuntimeEvent) {
        let weather = {
            let mut state = self.lock();
            state.events_made += 1;
            let lose = state.weather.lose_every;
            if lose > 0 && state.events_made.is_multiple_of(lose) {
                return;
            }
            state.weather
        };
        let world = self.clone();
        let deliver = move || {
            let times = if weather.doubled { 2 } else { 1 };
            // A listener that does not read loses its stream, as it would from a real runtime.
            world.lock().listeners.retain(|listener| {
                (0..times).all(|_| listener.try_send(Ok(event.clone())).is_ok())
            });
        };
        if weather.delay.is_zero() {
            deliver();
        } else {
            drop(base_daemon::spawn("late event", async move {
                tokio::time::sleep(weather.delay).await;
                deliver();
            }));
        }
    }

    fn tell(&self) {
        self.changed.send_modify(|version| *version += 1);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

/// Something that is not there any more.
pub(crate) fn gone(what: &str) -> Fail {
    Fail {
        kind: FailKind::Gone,
        reason: "NotFound",
        message: format!("there is no {what}"),
        image: None,
    }
}
