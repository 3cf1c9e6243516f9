//! Misbehaviour of calls, of the library's lock and of the driver.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nvidia_ml::{Effect, State, Target, exported};

use crate::arguments::{Delay, Fail, Hang, Where};
use crate::failure::Failure;
use crate::target;

/// How many functions a wrong name is answered with.
const HINTS: usize = 5;

/// Lets calls hang.
pub(crate) fn hang(state: &mut State, options: &Hang) -> Result<String, Failure> {
    let until = options.time.map(|time| milliseconds(since_epoch() + time));
    let place = inject(state, &options.call, &options.place, Effect::Hang { until })?;
    Ok(format!("{place}: {} hangs", options.call))
}

/// Lets calls take longer.
pub(crate) fn delay(state: &mut State, options: &Delay) -> Result<String, Failure> {
    let milliseconds = milliseconds(options.time);
    let place = inject(
        state,
        &options.call,
        &options.place,
        Effect::Delay { milliseconds },
    )?;
    Ok(format!(
        "{place}: {} takes {milliseconds} ms longer",
        options.call
    ))
}

/// Lets calls fail.
pub(crate) fn fail(state: &mut State, options: &Fail) -> Result<String, Failure> {
    let effect = Effect::Fail {
        code: options.code,
        times: options.times,
    };
    let place = inject(state, &options.call, &options.place, effect)?;
    Ok(format!(
        "{place}: {} fails with {}",
        options.call, options.code
    ))
}

/// Takes faults back, and the lock too when all are meant.
pub(crate) fn clear(state: &mut State, gpu: Option<&str>) -> Result<String, Failure> {
    let before = state.faults.len();
    match gpu {
        Some(name) => {
            let minors = target::gpus(state, name)?;
            let elsewhere = |place| !matches!(place, Target::Gpu(minor) if minors.contains(&minor));
            state.faults.retain(|fault| elsewhere(fault.target));
        }
        None => {
            state.faults.clear();
            state.node.locked = false;
        }
    }
    Ok(format!("{} faults cleared", before - state.faults.len()))
}

/// Holds the library's own lock or lets it go.
pub(crate) fn lock(state: &mut State, held: bool) -> String {
    state.node.locked = held;
    format!("library lock {}", if held { "held" } else { "free" })
}

/// Says what nvmlInit answers.
pub(crate) fn driver(state: &mut State, init_code: u32) -> String {
    state.node.init_code = init_code;
    format!("nvmlInit answers {init_code}")
}

fn inject(state: &mut State, call: &str, place: &Where, effect: Effect) -> Result<String, Failure> {
    check_name(call)?;
    let Some(gpu) = &place.gpu else {
        state.add_fault(call, Target::Node, effect);
        return Ok("node".to_owned());
    };
    let minors = target::gpus(state, gpu)?;
    for minor in &minors {
        state.add_fault(call, Target::Gpu(*minor), effect);
    }
    Ok(target::listed(&minors))
}

/// A fault on a misspelt name would silently do nothing.
fn check_name(call: &str) -> Result<(), Failure> {
    if call == "*" || exported().any(|name| name == call) {
        return Ok(());
    }
    let wanted = call.to_lowercase();
    let wanted = wanted.strip_prefix("nvml").unwrap_or(&wanted);
    let near: Vec<&str> = exported()
        .filter(|name| name.to_lowercase().contains(wanted))
        .take(HINTS)
        .collect();
    let hint = if near.is_empty() {
        String::new()
    } else {
        format!("; near: {}", near.join(", "))
    };
    Err(Failure::NoFunction {
        name: call.to_owned(),
        hint,
    })
}

fn since_epoch() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
