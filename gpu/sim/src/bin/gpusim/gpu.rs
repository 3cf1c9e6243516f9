//! GPUs that fall off the bus, come back, are reset, unplugged and plugged in.

use nvidia_ml::State;

use crate::failure::Failure;
use crate::target;

/// Lets GPUs fall off the bus.
pub(crate) fn lose(state: &mut State, name: &str) -> Result<String, Failure> {
    let gpus = target::change(state, name, |gpu| {
        gpu.lost = true;
        Ok(())
    })?;
    Ok(format!("{gpus}: lost"))
}

/// Brings lost GPUs back as they were.
pub(crate) fn restore(state: &mut State, name: &str) -> Result<String, Failure> {
    let gpus = target::change(state, name, |gpu| {
        gpu.lost = false;
        Ok(())
    })?;
    Ok(format!("{gpus}: back on the bus"))
}

/// Resets GPUs.
pub(crate) fn reset(state: &mut State, name: &str) -> Result<String, Failure> {
    let gpus = target::change(state, name, |gpu| {
        gpu.reset();
        Ok(())
    })?;
    Ok(format!("{gpus}: reset"))
}

/// Unplugs GPUs.
pub(crate) fn remove(state: &mut State, name: &str) -> Result<String, Failure> {
    let gpus = target::change(state, name, |gpu| {
        if !gpu.present {
            return Err(Failure::WrongState(format!(
                "GPU {} is removed already",
                gpu.minor
            )));
        }
        gpu.present = false;
        Ok(())
    })?;
    Ok(format!("{gpus}: removed"))
}

/// Plugs a GPU in again: the one named, or the first that is unplugged.
pub(crate) fn add(state: &mut State, name: Option<&str>) -> Result<String, Failure> {
    let first = state
        .gpus
        .iter()
        .find(|gpu| !gpu.present)
        .map(|gpu| gpu.minor.to_string());
    let none = || Failure::WrongState("no GPU is removed, so none can be added".to_owned());
    let name = name.map(str::to_owned).or(first).ok_or_else(none)?;
    let gpus = target::change(state, &name, |gpu| {
        if gpu.present {
            return Err(Failure::WrongState(format!(
                "GPU {} is not removed",
                gpu.minor
            )));
        }
        gpu.reset();
        gpu.present = true;
        Ok(())
    })?;
    Ok(format!("{gpus}: added"))
}
