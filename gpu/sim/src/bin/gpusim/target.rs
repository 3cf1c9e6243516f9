//! Which GPUs a command means.

use nvidia_ml::{Gpu, State};

use crate::failure::Failure;

/// Minor numbers of the GPUs by that name, unplugged ones included.
pub(crate) fn gpus(state: &State, name: &str) -> Result<Vec<u32>, Failure> {
    let named = |gpu: &&Gpu| {
        name == "all"
            || gpu.minor.to_string() == name
            || gpu.uuid.as_written().eq_ignore_ascii_case(name)
            || gpu.pci.address.as_written().eq_ignore_ascii_case(name)
    };
    let found: Vec<u32> = state
        .gpus
        .iter()
        .filter(named)
        .map(|gpu| gpu.minor)
        .collect();
    if found.is_empty() {
        let minors: Vec<String> = state.gpus.iter().map(|gpu| gpu.minor.to_string()).collect();
        return Err(Failure::NoGpu {
            name: name.to_owned(),
            known: minors.join(", "),
        });
    }
    Ok(found)
}

/// Changes each of the GPUs by that name; gives their minor numbers for the report.
pub(crate) fn change(
    state: &mut State,
    name: &str,
    mut change: impl FnMut(&mut Gpu) -> Result<(), Failure>,
) -> Result<String, Failure> {
    let minors = gpus(state, name)?;
    for gpu in state
        .gpus
        .iter_mut()
        .filter(|gpu| minors.contains(&gpu.minor))
    {
        change(gpu)?;
    }
    Ok(listed(&minors))
}

/// `GPU 3` or `GPU 0, 1, 2`.
pub(crate) fn listed(minors: &[u32]) -> String {
    let numbers: Vec<String> = minors.iter().map(u32::to_string).collect();
    format!("GPU {}", numbers.join(", "))
}
