//! What every exported function does before and after its own work: no panic leaves it, the library
//! must be initialised, and injected faults apply.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nvml_wrapper_sys::bindings::{nvmlComputeInstance_t, nvmlDevice_t, nvmlGpuInstance_t};

use crate::code::{Answer, Code, GPU_IS_LOST, INVALID_ARGUMENT, NOT_SUPPORTED, UNKNOWN};
use crate::handles::Handle;
use crate::process;
use crate::state::{Effect, Fault, Gpu, Mig, State};
use crate::store::Store;
use crate::view::{ComputeView, DeviceView, GpuView, InstanceView};
use crate::watch::Watch;

/// Defines exported functions with NVML's C names. Several names with `|` between them share one
/// body. The first parameter is the [`Call`]; the others are the C parameters.
macro_rules! entries {
    ($($(#[$meta:meta])* fn $($name:ident)|+ ($($argument:tt)*) $body:block)*) => {
        $( $crate::entry::entry!([$($name)+] ($($argument)*) $body); )*

        /// The functions of this file.
        pub(super) const NAMES: &[&str] = &[$($(stringify!($name)),+),*];
    };
}

macro_rules! entry {
    ([$($name:ident)+] $arguments:tt $body:block) => {
        $( $crate::entry::entry!($name $arguments $body); )+
    };
    ($name:ident ($call:ident $(, $argument:ident: $kind:ty)* $(,)?) $body:block) => {
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $kind),*) -> u32 {
            $crate::entry::run(stringify!($name), move |$call: &$crate::entry::Call| $body)
        }
    };
}

pub(crate) use {entries, entry};

/// One call of an exported function.
#[derive(Debug)]
pub(crate) struct Call {
    name: &'static str,
    state: Arc<State>,
}

/// Runs a function that needs an initialised library.
pub(crate) fn run(name: &'static str, body: impl FnOnce(&Call) -> Answer) -> u32 {
    guard(|| {
        let store = process::with(|process| process.store())?;
        let state = pass_faults(&store, name, None, current_state)?;
        body(&Call { name, state })
    })
}

/// Runs the body of an exported function; a panic becomes code 999 instead of unwinding into C.
pub(crate) fn guard(body: impl FnOnce() -> Answer) -> u32 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(code)) => code.0,
        Err(_) => UNKNOWN.0,
    }
}

fn current_state() -> Result<Arc<State>, Code> {
    process::with(|process| process.state())
}

impl Call {
    /// The state when the call began, or when what held it up was over.
    pub(crate) fn state(&self) -> &Arc<State> {
        &self.state
    }

    /// The whole GPU behind a device handle. A MIG device is not supported here, as for most calls.
    pub(crate) fn gpu(&self, device: nvmlDevice_t) -> Result<GpuView, Code> {
        match self.device(device)? {
            DeviceView::Gpu(gpu) => Ok(gpu),
            DeviceView::Mig(_) => Err(NOT_SUPPORTED),
        }
    }

    /// The GPU or MIG device behind a device handle.
    pub(crate) fn device(&self, device: nvmlDevice_t) -> Result<DeviceView, Code> {
        match process::with(|process| process.target(device))? {
            Handle::Gpu(minor) => self.reach(minor).map(DeviceView::Gpu),
            Handle::MigDevice { gpu, serial } => {
                ComputeView::find(self.reach(gpu)?, serial).map(DeviceView::Mig)
            }
            _ => Err(INVALID_ARGUMENT),
        }
    }

    /// The GPU instance behind a handle.
    pub(crate) fn instance(&self, instance: nvmlGpuInstance_t) -> Result<InstanceView, Code> {
        match process::with(|process| process.target(instance))? {
            Handle::GpuInstance { gpu, serial } => InstanceView::find(self.reach(gpu)?, serial),
            _ => Err(INVALID_ARGUMENT),
        }
    }

    /// The compute instance behind a handle.
    pub(crate) fn compute(&self, compute: nvmlComputeInstance_t) -> Result<ComputeView, Code> {
        match process::with(|process| process.target(compute))? {
            Handle::ComputeInstance { gpu, serial } => ComputeView::find(self.reach(gpu)?, serial),
            _ => Err(INVALID_ARGUMENT),
        }
    }

    /// The GPU with this minor number, after the faults that lie on it.
    pub(crate) fn reach(&self, minor: u32) -> Result<GpuView, Code> {
        let store = process::with(|process| process.store())?;
        let state = pass_faults(&store, self.name, Some(minor), current_state)?;
        let gpu = GpuView::find(state, minor).ok_or(GPU_IS_LOST)?;
        if gpu.lost || !gpu.present {
            Err(GPU_IS_LOST)
        } else {
            Ok(gpu)
        }
    }

    /// Changes the machine. Administration needs root, as with the real driver.
    pub(crate) fn change<T>(
        &self,
        change: impl FnOnce(&mut State) -> Result<T, Code>,
    ) -> Result<T, Code> {
        if !rustix::process::geteuid().is_root() {
            return Err(crate::code::NO_PERMISSION);
        }
        let store = process::with(|process| process.store())?;
        store.update(change)
    }

    /// Changes one GPU.
    pub(crate) fn change_gpu<T>(
        &self,
        gpu: &GpuView,
        change: impl FnOnce(&mut Gpu) -> Result<T, Code>,
    ) -> Result<T, Code> {
        self.change(|state| change(state.gpu_mut(gpu.minor).ok_or(GPU_IS_LOST)?))
    }

    /// Changes the MIG instances of one GPU; the device nodes and the event that the driver raises
    /// follow.
    pub(crate) fn change_mig<T>(
        &self,
        gpu: &GpuView,
        change: impl FnOnce(&mut Mig, &[crate::state::MigProfile]) -> Result<T, Code>,
    ) -> Result<T, Code> {
        self.change(|state| {
            let profiles = std::mem::take(&mut state.mig_profiles);
            let mig = state.gpu_mut(gpu.minor).and_then(|gpu| gpu.mig.as_mut());
            let result = mig
                .ok_or(NOT_SUPPORTED)
                .and_then(|mig| change(mig, &profiles));
            state.mig_profiles = profiles;
            let result = result?;
            state
                .events
                .push_whole(gpu.minor, crate::calls::events::MIG_CONFIG_CHANGE, 0);
            // As with the real library, which asks nvidia-modprobe to make the nodes: a failure
            // shows when a container wants them.
            let _ = crate::device_nodes::follow(state);
            Ok(result)
        })
    }
}

/// Waits, delays or fails as the faults in the state say; then gives the state.
pub(crate) fn pass_faults(
    store: &Store,
    name: &str,
    gpu: Option<u32>,
    state_now: impl Fn() -> Result<Arc<State>, Code>,
) -> Result<Arc<State>, Code> {
    let started = Instant::now();
    let mut watch = None;
    loop {
        let state = state_now()?;
        let timeout = match obstacle(&state, name, gpu, started.elapsed()) {
            None => return Ok(state),
            Some(Obstacle::Answer { code, count_down }) => {
                if let Some(id) = count_down {
                    // On a file system that is read-only here, the fault stays until it is cleared.
                    let _ = store.update(|state| -> Result<(), Code> {
                        state.use_up(id);
                        Ok(())
                    });
                }
                return Err(code);
            }
            Some(Obstacle::Wait(timeout)) => timeout,
        };
        match &watch {
            // The watch is made before the state is read once more, so that no change is missed.
            None => watch = Some(Watch::on(store.dir())),
            Some(watch) => watch.wait(timeout),
        }
    }
}

/// What stands in the way of a call.
enum Obstacle {
    /// Wait, at most so long, and look again.
    Wait(Option<Duration>),
    Answer {
        code: Code,
        count_down: Option<u64>,
    },
}

fn obstacle(state: &State, name: &str, gpu: Option<u32>, elapsed: Duration) -> Option<Obstacle> {
    if state.node.locked && gpu.is_none() {
        return Some(Obstacle::Wait(None));
    }
    state
        .faults
        .iter()
        .filter(|fault| fault.hits(name, gpu))
        .find_map(|fault| obstacle_of(fault, elapsed))
}

fn obstacle_of(fault: &Fault, elapsed: Duration) -> Option<Obstacle> {
    match fault.effect {
        Effect::Hang { until: None } => Some(Obstacle::Wait(None)),
        Effect::Hang { until: Some(end) } => {
            let left = Duration::from_millis(end.saturating_sub(unix_milliseconds()));
            (!left.is_zero()).then_some(Obstacle::Wait(Some(left)))
        }
        Effect::Delay { milliseconds } => {
            let left = Duration::from_millis(milliseconds).saturating_sub(elapsed);
            (!left.is_zero()).then_some(Obstacle::Wait(Some(left)))
        }
        Effect::Fail { code: 0, .. } => None,
        Effect::Fail { code, times } => Some(Obstacle::Answer {
            code: Code(code),
            count_down: times.map(|_| fault.id),
        }),
    }
}

/// Unix time in milliseconds.
pub(crate) fn unix_milliseconds() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
