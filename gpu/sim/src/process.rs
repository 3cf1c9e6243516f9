//! What this process knows: whether NVML is initialised, the state as last read, handles, event sets
//! and samples. One lock around it, never held while a call waits.

use std::collections::{BTreeMap, HashMap};
use std::env;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::code::{
    Answer, Code, DRIVER_NOT_LOADED, INVALID_ARGUMENT, NO_PERMISSION, UNINITIALIZED, UNKNOWN,
};
use crate::handles::{Handle, Handles};
use crate::state::{Event, State};
use crate::store::{STATE_VARIABLE, Stamp, Store, StoreError};

static PROCESS: Mutex<Option<Process>> = Mutex::new(None);

/// State of the library in this process.
#[derive(Debug, Default)]
pub(crate) struct Process {
    /// Initialisations that are not shut down yet.
    users: u32,
    store: Option<Store>,
    read: Option<(Stamp, Arc<State>)>,
    handles: Handles,
    event_sets: HashMap<u64, EventSet>,
    samples: HashMap<u64, Sample>,
    /// Number of event sets and samples made so far.
    made: u64,
}

/// A GPM sample: the metrics at the time it was taken.
pub(crate) type Sample = BTreeMap<u32, f64>;

/// What a caller registered for, and how far it has read.
#[derive(Debug, Default, Clone)]
pub(crate) struct EventSet {
    /// By GPU: event types, and the newest event at registration.
    registered: BTreeMap<u32, (u64, u64)>,
    /// Newest event that was handed out.
    read: u64,
}

impl EventSet {
    /// GPUs of this set.
    pub(crate) fn gpus(&self) -> impl Iterator<Item = u32> {
        self.registered.keys().copied()
    }

    fn wants(&self, event: &Event) -> bool {
        let registered = self.registered.get(&event.gpu);
        registered.is_some_and(|(kinds, after)| {
            event.sequence > self.read.max(*after) && event.kind & kinds != 0
        })
    }
}

/// Runs `use_process` with the library's state of this process.
pub(crate) fn with<T>(use_process: impl FnOnce(&mut Process) -> T) -> T {
    let mut guard: MutexGuard<'_, Option<Process>> =
        PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
    use_process(guard.get_or_insert_default())
}

/// The state directory that a client names in its environment.
pub(crate) fn store_of_environment() -> Result<Store, Code> {
    let dir = env::var_os(STATE_VARIABLE).filter(|dir| !dir.is_empty());
    dir.map(|dir| Store::at(PathBuf::from(dir)))
        .ok_or(DRIVER_NOT_LOADED)
}

/// What NVML answers when the state cannot be used.
impl From<StoreError> for Code {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Missing(_) => DRIVER_NOT_LOADED,
            StoreError::Io { source, .. }
                if matches!(
                    source.kind(),
                    std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem
                ) =>
            {
                NO_PERMISSION
            }
            StoreError::Damaged { .. } | StoreError::Format { .. } | StoreError::Io { .. } => {
                UNKNOWN
            }
        }
    }
}

impl Process {
    /// Counts one more user of the library.
    pub(crate) fn enter(&mut self, store: Store) {
        self.users = self.users.saturating_add(1);
        self.store.get_or_insert(store);
    }

    /// Counts one user less; the last one takes event sets and samples with it.
    pub(crate) fn leave(&mut self) -> Answer {
        self.users = self.users.checked_sub(1).ok_or(UNINITIALIZED)?;
        if self.users == 0 {
            self.store = None;
            self.read = None;
            self.event_sets.clear();
            self.samples.clear();
        }
        Ok(())
    }

    /// The state directory in use.
    pub(crate) fn store(&self) -> Result<Store, Code> {
        self.store.clone().ok_or(UNINITIALIZED)
    }

    /// The state as it is now; read again only when the file has changed.
    pub(crate) fn state(&mut self) -> Result<Arc<State>, Code> {
        let store = self.store.as_ref().ok_or(UNINITIALIZED)?;
        if let (Some((known, state)), Some(stamp)) = (&self.read, store.stamp())
            && *known == stamp
        {
            return Ok(Arc::clone(state));
        }
        self.read = None;
        let (stamp, state) = store.load_stamped()?;
        let state = Arc::new(state);
        self.read = Some((stamp, Arc::clone(&state)));
        Ok(state)
    }

    /// The handle for a target.
    pub(crate) fn handle<T>(&mut self, target: Handle) -> *mut T {
        self.handles.give(target)
    }

    /// The target of a handle.
    pub(crate) fn target<T>(&self, handle: *mut T) -> Result<Handle, Code> {
        self.handles.target(handle).ok_or(INVALID_ARGUMENT)
    }

    pub(crate) fn add_event_set<T>(&mut self) -> *mut T {
        self.made += 1;
        self.event_sets.insert(self.made, EventSet::default());
        self.handle(Handle::EventSet(self.made))
    }

    pub(crate) fn event_set<T>(&mut self, handle: *mut T) -> Result<&mut EventSet, Code> {
        match self.target(handle)? {
            Handle::EventSet(number) => self.event_sets.get_mut(&number).ok_or(INVALID_ARGUMENT),
            _ => Err(INVALID_ARGUMENT),
        }
    }

    pub(crate) fn remove_event_set<T>(&mut self, handle: *mut T) -> Answer {
        let Handle::EventSet(number) = self.target(handle)? else {
            return Err(INVALID_ARGUMENT);
        };
        self.handles.forget(Handle::EventSet(number));
        self.event_sets
            .remove(&number)
            .map(|_| ())
            .ok_or(INVALID_ARGUMENT)
    }

    /// Registers a GPU with a set, from the event `newest` on.
    pub(crate) fn register<T>(
        &mut self,
        handle: *mut T,
        gpu: u32,
        kinds: u64,
        newest: u64,
    ) -> Answer {
        let set = self.event_set(handle)?;
        let entry = set.registered.entry(gpu).or_insert((0, newest));
        entry.0 |= kinds;
        Ok(())
    }

    /// The next event of a set, if there is one.
    pub(crate) fn next_event<T>(
        &mut self,
        handle: *mut T,
        state: &State,
    ) -> Result<Option<Event>, Code> {
        let set = self.event_set(handle)?;
        let next = state
            .events
            .recent
            .iter()
            .find(|event| set.wants(event))
            .cloned();
        if let Some(event) = &next {
            set.read = event.sequence;
        }
        Ok(next)
    }

    pub(crate) fn add_sample<T>(&mut self) -> *mut T {
        self.made += 1;
        self.samples.insert(self.made, Sample::new());
        self.handle(Handle::GpmSample(self.made))
    }

    pub(crate) fn sample<T>(&mut self, handle: *mut T) -> Result<&mut Sample, Code> {
        match self.target(handle)? {
            Handle::GpmSample(number) => self.samples.get_mut(&number).ok_or(INVALID_ARGUMENT),
            _ => Err(INVALID_ARGUMENT),
        }
    }

    pub(crate) fn remove_sample<T>(&mut self, handle: *mut T) -> Answer {
        let Handle::GpmSample(number) = self.target(handle)? else {
            return Err(INVALID_ARGUMENT);
        };
        self.handles.forget(Handle::GpmSample(number));
        self.samples
            .remove(&number)
            .map(|_| ())
            .ok_or(INVALID_ARGUMENT)
    }
}
